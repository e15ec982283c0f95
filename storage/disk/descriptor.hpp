// Descriptor: an open file that closes itself; and helpers for system calls.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <xgrad/autograd/check.hpp>

namespace xgrad::detail {

/// Throws IoError for a failed system call: "path: cannot write: No space left on device".
[[noreturn]] inline void fail_io(const std::string& path, const char* what, int error = errno) {
  fail<IoError>(path, ": ", what, ": ", std::generic_category().message(error));
}

/// Repeats a system call while signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Throws IoError with `path` unless the mode says that the file is regular.
inline void check_regular(mode_t mode, const std::string& path) {
  check<IoError>(!S_ISDIR(mode), path, ": is a directory, not a file");
  check<IoError>(!S_ISLNK(mode), path, ": is a symbolic link, not a regular file");
  check<IoError>(S_ISREG(mode), path, ": is not a regular file");
}

/// The status of an open file. Throws IoError with `path`.
inline struct stat status_of(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) == -1) fail_io(path, "cannot stat");
  return status;
}

/// Writes all bytes to a descriptor. Throws IoError with `path`.
inline void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n == -1) fail_io(path, "cannot write");
    if (n == 0) fail_io(path, "cannot write", EIO);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

class Descriptor {
 public:
  /// Opens a file relative to `directory`. Throws IoError with `path` and `what` on failure.
  Descriptor(int directory, const std::string& name, int flags, const std::string& path,
             const char* what)
      : fd_(uninterrupted(
            [&] { return ::openat(directory, name.c_str(), flags | O_CLOEXEC, 0666); })) {
    if (fd_ == -1) fail_io(path, what);
  }
  /// Owns an open file from now on: the destructor closes it.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ != -1) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  operator int() const { return fd_; }

  /// Locks the file for as long as it is open. Returns false if it is locked through another
  /// Descriptor, of this or another process. Throws IoError with `path`.
  bool lock(const std::string& path) const {
    if (uninterrupted([&] { return ::flock(fd_, LOCK_EX | LOCK_NB); }) == 0) return true;
    if (errno != EWOULDBLOCK) fail_io(path, "cannot lock");
    return false;
  }

  /// Closes the file. An interrupted close() is no error: Linux has closed the descriptor then.
  void close(const std::string& path) {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) == -1 && errno != EINTR) fail_io(path, "cannot close");
  }

 private:
  int fd_;
};

}  // namespace xgrad::detail
