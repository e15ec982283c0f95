#include <xgrad/storage/disk/input_file.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

using detail::fail_io;
using detail::uninterrupted;

// O_NONBLOCK: opening a FIFO without a writer must not block.
InputFile::InputFile(const std::string& path)
    : InputFile({AT_FDCWD, path, O_RDONLY | O_NONBLOCK, path, "cannot open"}, path) {}

InputFile::InputFile(detail::Descriptor file, const std::string& path)
    : path_(path), file_(std::move(file)) {
  struct stat status;
  if (::fstat(file_, &status) == -1) fail_io(path, "cannot stat");
  detail::check_regular(status.st_mode, path);
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_ = status.st_mtim;
}

bool InputFile::has_changed() const {
  struct stat status;
  if (::fstat(file_, &status) == -1) fail_io(path_, "cannot stat");
  return static_cast<std::uint64_t>(status.st_size) != size_ ||
         status.st_mtim.tv_sec != written_.tv_sec || status.st_mtim.tv_nsec != written_.tv_nsec;
}

std::string InputFile::read(std::uint64_t from, std::size_t size) const {
  std::string bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    detail::fail<IoError>(path_, ": does not fit into memory: ", size, " bytes");
  } catch (const std::length_error&) {
    detail::fail<IoError>(path_, ": does not fit into memory: ", size, " bytes");
  }
  read(from, size, bytes.data());
  return bytes;
}

void InputFile::read(std::uint64_t from, std::size_t size, char* bytes) const {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = uninterrupted(
        [&] { return ::pread(file_, bytes + done, size - done, static_cast<off_t>(from + done)); });
    if (n == -1) fail_io(path_, "cannot read");
    check<IoError>(n > 0, path_, ": became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
}

std::string read_whole(const InputFile& file, std::uint64_t most) {
  check<IoError>(file.size() <= most, file.path(), ": has ", file.size(),
                 " bytes, must have at most ", most);
  return file.read(0, file.size());
}

std::string read_file(const std::string& path, std::uint64_t most) {
  return read_whole(InputFile(path), most);
}

}  // namespace xgrad
