#include <xgrad/storage/disk/folder.hpp>

#include <dirent.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

using detail::check_regular;
using detail::Descriptor;
using detail::fail_io;
using detail::status_of;
using detail::uninterrupted;

/// Returns the status of a name without following links; nothing if it does not exist.
std::optional<struct stat> status_of(const Folder& folder, const std::string& name) {
  struct stat status;
  if (::fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return status;
  }
  if (errno != ENOENT) fail_io(folder.path_of(name), "cannot stat");
  return std::nullopt;
}

/// Ignores EINVAL, with which some file systems refuse to sync a directory.
void sync_descriptor(const Descriptor& descriptor, const std::string& path) {
  const int result = uninterrupted([&] { return ::fsync(descriptor); });
  if (result == -1 && errno != EINVAL) fail_io(path, "cannot sync");
}

}  // namespace

Folder::Folder(std::string path)
    : path_(std::move(path)),
      descriptor_(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY, path_, "cannot open the directory") {}

Folder::Folder(const Folder& above, const std::string& name)
    : path_(above.path_of(name)),
      descriptor_(above.descriptor_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path_,
                  "cannot open the directory") {}

std::string Folder::present_path() const {
  std::error_code failed;
  const auto link = fs::path("/proc/self/fd") / std::to_string(int(descriptor_));
  if (fs::equivalent(path_, link, failed)) return path_;
  const fs::path there = fs::read_symlink(link, failed);
  return !failed && fs::exists(there, failed) ? there.string() : path_;  // path_ if it was removed
}

bool Folder::holds(const std::string& name) const {
  const auto status = status_of(*this, name);
  if (status) check_regular(status->st_mode, path_of(name));
  return status.has_value();
}

void Folder::check_single(const std::string& name) const {
  const auto status = status_of(*this, name);
  check<IoError>(!status || status->st_nlink == 1, path_of(name),
                 ": is a hard link, and a run that writes to it would change the other file; "
                 "replace it with a copy");
}

bool Folder::holds_folder(const std::string& name) const {
  const auto status = status_of(*this, name);
  if (!status) return false;
  check<IoError>(!S_ISLNK(status->st_mode), path_of(name), ": is a symbolic link, not a directory");
  check<IoError>(S_ISDIR(status->st_mode), path_of(name), ": is not a directory");
  return true;
}

// Avoids std::filesystem's iterator, which terminates the process when out of memory.
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
  // For the message only; the open below refuses other kinds in any case.
  const bool creates = !holds(name) && (flags & O_CREAT) != 0;
  Descriptor file(descriptor_, name, flags | O_NOFOLLOW | O_NONBLOCK, path,
                  creates ? "cannot create" : "cannot open");
  check_regular(status_of(file, path).st_mode, path);
  return file;
}

InputFile Folder::input(const std::string& name) const {
  return InputFile(open(name, O_RDONLY), path_of(name));
}

std::string Folder::read(const std::string& name, std::uint64_t most) const {
  return read_whole(input(name), most);
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
  if (::ftruncate(file, static_cast<off_t>(size)) == -1) fail_io(path, "cannot truncate");
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
    fail_io(path_of(name), "cannot create the directory");
  }
}

bool Folder::remove(const std::string& name) const {
  if (::unlinkat(descriptor_, name.c_str(), 0) == 0) return true;
  if (errno != ENOENT) fail_io(path_of(name), "cannot remove");
  return false;
}

void Folder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) == -1) {
    fail_io(path_of(from), "cannot rename");
  }
}

}  // namespace xgrad
