#include <xgrad/storage/disk/publish.hpp>

#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <regex>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

using detail::Descriptor;
using detail::fail_io;
using detail::uninterrupted;

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE, missing in older C libraries

/// Returns a unique name, ".name.<pid>.<random>.tmp", that sweep_temporaries() recognises.
std::string temporary_name(const std::string& name) {
  std::random_device random;
  char suffix[48];
  std::snprintf(suffix, sizeof suffix, ".%d.%08x%08x.tmp", int(::getpid()), random(), random());
  return "." + name + suffix;
}

/// Returns the name of the file for which publish() made this temporary; empty for any other name.
std::string target_of(const std::string& name) {
  static const std::regex form("\\.([^]+)\\.[0-9]+\\.[0-9a-f]{16}\\.tmp");
  std::smatch match;
  return std::regex_match(name, match, form) ? match.str(1) : "";
}

/// Removes temporary files that a killed publish() of this file left; a living process has locked
/// its own. Ignores errors, because a file that stays does no harm.
void sweep_temporaries(const Folder& folder, const std::string& target) try {
  for (const std::string& name : folder.names()) {
    if (target_of(name) != target) continue;
    const Descriptor file = folder.open(name, O_WRONLY);  // NFS locks only files open for writing
    if (file.lock(name)) folder.remove(name);
  }
} catch (const IoError&) {
}

/// Locks a temporary file, if its file system has locks, so that no other process sweeps it.
/// Returns false if another process has locked it.
bool lock(const Descriptor& file) try { return file.lock(""); } catch (const IoError&) {
  return true;
}

void reserve(int fd, std::size_t size, const std::string& path) {
  if (size == 0) return;
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  const bool unsupported = error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
  if (error != 0 && !unsupported) fail_io(path, "cannot reserve space", error);
}

void compare(const Descriptor& fd, std::string_view bytes, const std::string& path) {
  constexpr std::size_t kBlock = 1 << 20;
  const auto buffer = std::make_unique<char[]>(kBlock);
  std::size_t offset = 0;
  while (true) {
    const ssize_t n = uninterrupted(
        [&] { return ::pread(fd, buffer.get(), kBlock, static_cast<off_t>(offset)); });
    if (n == -1) fail_io(path, "cannot read back");
    if (n == 0) break;
    const auto got = static_cast<std::size_t>(n);
    check<IoError>(bytes.substr(offset, got) == std::string_view(buffer.get(), got), path,
                   ": the bytes read back differ from those written");
    offset += got;
  }
  check<IoError>(offset == bytes.size(), path, ": read back ", offset, " bytes of ", bytes.size());
}

/// Renames a file, never over another one. On a file system without RENAME_NOREPLACE, makes a hard
/// link and removes the first name. Without hard links, checks the target and renames.
int rename_new(int directory, const char* from, const char* to) {
  if (::syscall(SYS_renameat2, directory, from, directory, to, kNoReplace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (::linkat(directory, from, directory, to, 0) == 0) {
    ::unlinkat(directory, from, 0);
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
  struct stat status;
  if (::fstatat(directory, to, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return ::renameat(directory, from, directory, to);
}

void publish(const Folder& folder, const std::string& name, std::string_view bytes, bool over) {
  const std::string path = folder.path_of(name);
  const Descriptor& directory = folder.descriptor();
  check<IoError>(!name.empty() && name.find('/') == std::string::npos, path,
                 ": the name must not be empty or contain /");
  const std::string temporary = temporary_name(name);

  Descriptor file(directory, temporary, O_WRONLY | O_CREAT | O_EXCL, path, "cannot create");
  std::string own = temporary;  // to be removed on failure
  try {
    // Before it was locked, another process that publishes this file may have swept it.
    const bool swept = !lock(file) || !folder.holds(temporary);
    if (swept) return publish(folder, name, bytes, over);
    const Descriptor locked(::fcntl(file, F_DUPFD_CLOEXEC, 0));  // keeps the lock until the rename
    reserve(file, bytes.size(), path);
    detail::write_all(file, bytes, path);
    // After a failed fsync, the descriptor may later report success for lost data: give up, never
    // retry.
    if (uninterrupted([&] { return ::fsync(file); }) == -1) fail_io(path, "cannot sync");
    file.close(path);
    compare({directory, temporary, O_RDONLY | O_NOFOLLOW, path, "cannot read back"}, bytes, path);
    const int renamed = over ? ::renameat(directory, temporary.c_str(), directory, name.c_str())
                             : rename_new(directory, temporary.c_str(), name.c_str());
    if (renamed == -1) fail_io(path, "cannot create");
    own = over ? "" : name;
    folder.sync();
  } catch (...) {
    if (!own.empty()) ::unlinkat(directory, own.c_str(), 0);
    throw;
  }
}

}  // namespace

void publish(const Folder& folder, const std::string& name, std::string_view bytes) {
  publish(folder, name, bytes, false);
}

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const fs::path file(path);
  return {file.has_parent_path() ? file.parent_path().string() : ".", file.filename().string()};
}

void publish_file(const std::string& path, std::string_view bytes) {
  const auto [parent, name] = folder_and_name(path);
  const Folder folder(parent);
  sweep_temporaries(folder, name);
  publish(folder, name, bytes);
}

void check_new(const std::string& path) {
  const auto [parent, name] = folder_and_name(path);
  const Folder folder(parent);
  struct stat status;
  if (::fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    fail_io(path, "cannot create", EEXIST);
  }
  if (errno != ENOENT) fail_io(path, "cannot create");
  if (::faccessat(folder.descriptor(), ".", W_OK, AT_EACCESS) == -1) fail_io(path, "cannot create");
}

void check_room(const std::string& path, std::size_t bytes, const std::string& what) {
  fs::path place = fs::absolute(path).lexically_normal();
  std::error_code ignored;  // a name that is too long does not exist either
  while (!fs::exists(place, ignored) && place.has_relative_path()) place = place.parent_path();
  struct statvfs status;
  if (uninterrupted([&] { return ::statvfs(place.c_str(), &status); }) == -1) {
    fail_io(path, "cannot find out the free space");
  }
  const std::uint64_t free = std::uint64_t(status.f_bavail) * status.f_frsize;
  check<IoError>(bytes <= free, path, ": ", what, " need ", bytes, " bytes, but only ", free,
                 " are free");
}

void publish_over(const Folder& folder, const std::string& name, std::string_view bytes) {
  folder.holds(name);  // throws unless the target is a regular file or absent
  sweep_temporaries(folder, name);
  publish(folder, name, bytes, true);
}

std::vector<std::string> sweep_temporaries(const Folder& folder) {
  std::vector<std::string> left;
  for (const std::string& name : folder.names()) {
    if (target_of(name).empty()) continue;
    // A process that publishes here at the same time may remove its own first.
    if (folder.remove(name)) left.push_back(folder.path_of(name));
  }
  return left;
}

}  // namespace xgrad
