// Data that a library reads from a file or in a process of its own. The first byte chooses: IDX,
// gzipped or plain, with so many extents, or a dataset of HDF5.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/tasks/images/fashion_mnist.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>

namespace {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("file", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != ssize_t(bytes.size())) std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void read_idx(std::string_view bytes, std::size_t rank) {
  try {
    xgrad::read_idx(MemoryFile(bytes).path(), rank);
  } catch (const xgrad::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= '1' && data[0] <= '3') read_idx(bytes, data[0] - '0');
  if (data[0] == 'h') {
    try {
      const MemoryFile file(bytes);
      const xgrad::Hdf5File opened(file.path());
      const xgrad::Hdf5Dataset found = opened.describe("x");
      if (!found.extents.empty()) opened.rows("x", found, {0, found.extents[0]});
    } catch (const xgrad::FormatError&) {
    }
  }
  return 0;
}
