#include <xgrad/storage/disk/input_file.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <exception>

namespace xgrad {

using detail::fail_io;
using detail::status_of;
using detail::uninterrupted;

// O_NONBLOCK: opening a FIFO without a writer must not block.
InputFile::InputFile(const std::string& path)
    : InputFile({AT_FDCWD, path, O_RDONLY | O_NONBLOCK, path, "cannot open"}, path) {}

InputFile::InputFile(detail::Descriptor file, const std::string& path)
    : path_(path), file_(std::move(file)) {
  const struct stat status = status_of(file_, path);
  detail::check_regular(status.st_mode, path);
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_ = status.st_mtim;
}

bool InputFile::has_changed() const {
  const struct stat status = status_of(file_, path_);
  return static_cast<std::uint64_t>(status.st_size) != size_ ||
         status.st_mtim.tv_sec != written_.tv_sec || status.st_mtim.tv_nsec != written_.tv_nsec;
}

std::string InputFile::read(std::uint64_t from, std::size_t size) const {
  std::string bytes;
  try {
    bytes.resize(size);
  } catch (const std::exception&) {  // bad_alloc or length_error
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

Mapping::Mapping(int file, std::size_t size, const std::string& path) : size_(size) {
  if (size == 0) return;
  start_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (start_ == MAP_FAILED) fail_io(path, "cannot map");
}

Mapping::~Mapping() {
  if (size_ > 0) ::munmap(start_, size_);
}

bool Lines::next(std::string& line) {
  constexpr std::uint64_t kBlock = 1 << 16;
  line.clear();
  has_end_ = false;
  ++number_;
  while (!has_end_) {
    if (used_ == block_.size()) {
      if (read_ == file_.size()) break;
      block_ = file_.read(read_, std::size_t(std::min(kBlock, file_.size() - read_)));
      read_ += block_.size();
      used_ = 0;
    }
    const std::size_t end = std::min(block_.find('\n', used_), block_.size());
    has_end_ = end < block_.size();
    line.append(block_, used_, end - used_);
    used_ = end + has_end_;
    check<IoError>(line.size() <= kMostLine, file_.path(), ": line ", number_, " has more than ",
                   kMostLine, " bytes");
  }
  position_ += line.size() + has_end_;
  return has_end_ || !line.empty();
}

}  // namespace xgrad
