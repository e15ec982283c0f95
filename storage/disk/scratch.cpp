#include <xgrad/storage/disk/scratch.hpp>

#include <sys/stat.h>

#include <string_view>

#include <xgrad/storage/disk/temporary_folder.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kBlock = std::size_t(1) << 20;  // bytes of a write

// Not /tmp, which is often in memory.
std::string folder() {
  return temporary_place("/var/tmp");
}

[[noreturn]] void fail(const std::string& what, int error = errno) {
  detail::fail<IoError>(folder(), ": ", what, ": ", std::generic_category().message(error),
                        "; set TMPDIR to a folder with room for a copy of the data");
}

detail::Descriptor make_file() {
  std::string path = folder() + "/xgrad-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file == -1) fail("cannot create a temporary file in it");
  ::unlink(path.c_str());
  return detail::Descriptor(file);
}

}  // namespace

Scratch::Scratch(const std::string& shared) {
  const std::size_t end = shared.rfind(' ');
  const std::string path = shared.substr(0, end);
  size_ = std::stoull(shared.substr(end + 1));
  if (size_ == 0) return;
  const detail::Descriptor file(AT_FDCWD, path, O_RDONLY, path, "cannot open");
  struct stat status;
  if (::fstat(file, &status) == -1) detail::fail_io(path, "cannot stat");
  check<IoError>(std::size_t(status.st_size) == size_, path, ": has ", status.st_size,
                 " bytes, expected ", size_);
  mapping_.emplace(file, size_, path);
}

void Scratch::append(const void* bytes, std::size_t size) {
  buffer_.append(static_cast<const char*>(bytes), size);
  size_ += size;
  if (buffer_.size() > (file_ ? kBlock : kMostInMemory)) write_out();
}

void Scratch::write_out() {
  if (!file_) file_.emplace(make_file());
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t n =
        detail::uninterrupted([&] { return ::write(*file_, rest.data(), rest.size()); });
    if (n == -1) fail("cannot write a temporary file in it");
    rest.remove_prefix(std::size_t(n));
  }
  buffer_.clear();
  if (buffer_.capacity() > 2 * kBlock) buffer_ = std::string();
}

void Scratch::finish() {
  if (!file_) return buffer_.shrink_to_fit();
  write_out();
  buffer_ = std::string();
  mapping_.emplace(*file_, size_, folder());
}

std::string Scratch::share() {
  if (!file_ && size_ > 0) {
    file_.emplace(make_file());
    finish();
  }
  const int file = file_ ? int(*file_) : -1;
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file) + " " +
         std::to_string(size_);
}

}  // namespace xgrad
