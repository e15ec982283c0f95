// Data that a library reads from a file or in a process of its own. The first byte chooses: IDX,
// gzipped or plain, with so many extents, or a dataset of HDF5.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/tasks/images/idx.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>
#include <xgrad/storage/formats/format_error.hpp>

namespace {

void read_idx(std::string_view bytes, std::size_t rank) {
  const int fd = ::memfd_create("idx", 0);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) std::abort();
  try {
    xgrad::read_idx("/proc/self/fd/" + std::to_string(fd), rank);
  } catch (const xgrad::DataError&) {
  }
  ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= '1' && data[0] <= '3') read_idx(bytes, data[0] - '0');
  if (data[0] == 'h') {
    try {
      xgrad::read_hdf5_dataset(bytes, "x");
    } catch (const xgrad::FormatError&) {
    }
  }
  return 0;
}
