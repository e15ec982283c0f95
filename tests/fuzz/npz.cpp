// npz archives of weights, and the .npy in them.
#include <cstdint>

#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/formats/tensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    if (bytes.starts_with("PK")) {
      xgrad::from_npz(bytes);
    } else {
      xgrad::read_npy(bytes);
    }
  } catch (const xgrad::FormatError&) {
  }
  return 0;
}
