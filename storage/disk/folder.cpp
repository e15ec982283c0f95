#include <xgrad/storage/disk/folder.hpp>

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

namespace {

using detail::Descriptor;
using detail::fail_io;
using detail::uninterrupted;

void check_regular(mode_t mode, const std::string& path) {
  check<IoError>(!S_ISDIR(mode), path, ": is a directory, not a file");
  check<IoError>(!S_ISLNK(mode), path, ": is a symbolic link, not a regular file");
  check<IoError>(S_ISREG(mode), path, ": is not a regular file");
}

struct stat status_of(const Descriptor& file, const std::string& path) {
  struct stat status;
  if (::fstat(file, &status) == -1) fail_io(path, "cannot stat");
  return status;
}

/// What stands under a name, links not followed; nothing where nothing does.
std::optional<mode_t> mode_of(const Folder& folder, const std::string& name) {
  struct stat status;
  if (::fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return status.st_mode;
  }
  if (errno != ENOENT) fail_io(folder.path_of(name), "cannot stat");
  return std::nullopt;
}

/// Some filesystems cannot sync a directory, and say so by EINVAL.
void sync_descriptor(const Descriptor& descriptor, const std::string& path) {
  const int result = uninterrupted([&] { return ::fsync(descriptor); });
  if (result == -1 && errno != EINVAL) fail_io(path, "cannot sync");
}

}  // namespace

void detail::write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n == -1) fail_io(path, "cannot write");
    if (n == 0) fail_io(path, "cannot write", EIO);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

Folder::Folder(std::string path)
    : path_(std::move(path)),
      descriptor_(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY, path_, "cannot open the directory") {}

Folder::Folder(const Folder& above, const std::string& name)
    : path_(above.path_of(name)),
      descriptor_(above.descriptor_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path_,
                  "cannot open the directory") {}

bool Folder::is_at_path() const {
  struct stat there;
  if (::stat(path_.c_str(), &there) == -1) {
    if (errno != ENOENT && errno != ENOTDIR) fail_io(path_, "cannot stat");
    return false;
  }
  const struct stat here = status_of(descriptor_, path_);
  return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

bool Folder::holds(const std::string& name) const {
  const std::optional<mode_t> mode = mode_of(*this, name);
  if (mode) check_regular(*mode, path_of(name));
  return mode.has_value();
}

bool Folder::holds_folder(const std::string& name) const {
  const std::optional<mode_t> mode = mode_of(*this, name);
  if (!mode) return false;
  check<IoError>(!S_ISLNK(*mode), path_of(name), ": is a symbolic link, not a directory");
  check<IoError>(S_ISDIR(*mode), path_of(name), ": is not a directory");
  return true;
}

// std::filesystem's iterator ends the process where it gets no memory.
std::vector<std::string> Folder::names() const {
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const int again =
      uninterrupted([&] { return ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (again == -1) fail_io(path_, "cannot list the directory");
  const std::unique_ptr<DIR, Close> open(::fdopendir(again));
  if (!open) {
    const int reason = errno;
    ::close(again);
    fail_io(path_, "cannot list the directory", reason);
  }
  std::vector<std::string> names;
  const dirent* entry = nullptr;
  while (errno = 0, (entry = ::readdir(open.get())) != nullptr) names.push_back(entry->d_name);
  if (errno != 0) fail_io(path_, "cannot list the directory");
  return names;
}

Descriptor Folder::open(const std::string& name, int flags) const {
  const std::string path = path_of(name);
  holds(name);  // says what it is; below, nothing but a regular file is opened in any case
  Descriptor file(descriptor_, name, flags | O_NOFOLLOW | O_NONBLOCK, path, "cannot open");
  check_regular(status_of(file, path).st_mode, path);
  return file;
}

std::string Folder::read(const std::string& name) const {
  const InputFile file(open(name, O_RDONLY), path_of(name));
  return file.read(0, file.size());
}

void Folder::append(const std::string& name, const std::string& line) const {
  const std::string path = path_of(name);
  Descriptor file = open(name, O_WRONLY | O_APPEND | O_CREAT);
  detail::write_all(file, line + "\n", path);
  file.close(path);
}

void Folder::truncate(const std::string& name, std::size_t size) const {
  const std::string path = path_of(name);
  Descriptor file = open(name, O_WRONLY);
  if (::ftruncate(file, static_cast<off_t>(size)) == -1) fail_io(path, "cannot cut");
  file.close(path);
}

void Folder::sync(const std::string& name) const {
  sync_descriptor(open(name, O_RDONLY), path_of(name));
}

void Folder::sync() const {
  sync_descriptor(descriptor_, path_);
}

void Folder::make_folder(const std::string& name) const {
  if (holds_folder(name)) return;
  if (::mkdirat(descriptor_, name.c_str(), 0777) == -1) {
    fail_io(path_of(name), "cannot make the directory");
  }
}

void Folder::remove(const std::string& name) const {
  if (::unlinkat(descriptor_, name.c_str(), 0) == -1) fail_io(path_of(name), "cannot remove");
}

void Folder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) == -1) {
    fail_io(path_of(from), "cannot rename");
  }
}

}  // namespace xgrad
