// Data in HDF5, in this process, where libFuzzer and the sanitizers see the reader: thousands of
// inputs a second. Inputs are those of files.cpp, which reads them as xgrad does: in a confined
// process, because libhdf5 crashes on some. fuzz.py tells crashes of libhdf5 from ours.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>

namespace {

/// The answer of the confined process must arrive unchanged.
void read(std::string_view bytes) {
  try {
    const std::string packed = pack(xgrad::parse_hdf5_dataset(bytes, "x"));
    if (pack(xgrad::unpack(packed)) != packed) std::abort();
  } catch (const xgrad::FormatError&) {
  } catch (const std::bad_alloc&) {
  }
}

void list(std::string_view bytes) {
  try {
    xgrad::list_hdf5_datasets(bytes);
  } catch (const xgrad::FormatError&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || data[0] != 'h') return -1;  // not for the corpus
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto begin = std::chrono::steady_clock::now();
  read(bytes);
  list(bytes);
  // libhdf5 takes seconds over some inputs. Their descendants would, too.
  return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(100) ? 0 : -1;
}
