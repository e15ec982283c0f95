#include <xgrad/storage/disk/temporary.hpp>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace xgrad {

namespace {

constexpr std::size_t kBlock = std::size_t(1) << 20;  // bytes of a write

// The folder that the environment variable TMPDIR names, or else `otherwise`.
std::string temporary_place(const char* otherwise) {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : otherwise;
}

// Not /tmp, which is often in memory.
std::string scratch_place() {
  return temporary_place("/var/tmp");
}

[[noreturn]] void fail(const std::string& place, const char* what, const char* advice) {
  detail::fail<IoError>(place, ": cannot ", what, ": ", std::generic_category().message(errno),
                        "; set TMPDIR to ", advice);
}

[[noreturn]] void fail_scratch(const char* what) {
  fail(scratch_place(), what, "a folder with room for a copy of the data");
}

detail::Descriptor make_file() {
  std::string path = scratch_place() + "/xgrad-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file == -1) fail_scratch("create a temporary file in it");
  ::unlink(path.c_str());
  return detail::Descriptor(file);
}

}  // namespace

TemporaryFolder::TemporaryFolder() : TemporaryFolder(temporary_place("/tmp")) {}

TemporaryFolder::TemporaryFolder(const std::string& above)
    : path_(above + "/xgrad-XXXXXX"), owner_(::getpid()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    fail(above, "create a temporary directory in it", "another folder");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (::getpid() == owner_) std::filesystem::remove_all(path_, ignored);
}

Scratch::Scratch(const std::string& shared) {
  const std::size_t end = shared.rfind(' ');
  const std::string path = shared.substr(0, end);
  size_ = std::stoull(shared.substr(end + 1));
  if (size_ == 0) return;
  const detail::Descriptor file(AT_FDCWD, path, O_RDONLY, path, "cannot open");
  const auto found = detail::status_of(file, path).st_size;
  check<IoError>(std::size_t(found) == size_, path, ": has ", found, " bytes, expected ", size_);
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
    if (n == -1) fail_scratch("write a temporary file in it");
    rest.remove_prefix(std::size_t(n));
  }
  buffer_.clear();
  if (buffer_.capacity() > 2 * kBlock) buffer_ = std::string();
}

void Scratch::finish() {
  if (!file_) return buffer_.shrink_to_fit();
  write_out();
  buffer_ = std::string();
  mapping_.emplace(*file_, size_, scratch_place());
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
