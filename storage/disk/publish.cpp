#include <xgrad/storage/disk/publish.hpp>

#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <regex>
#include <utility>

namespace xgrad {

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
    const Descriptor file = folder.open(name, O_WRONLY);  // NFS locks no others
    if (file.lock(name)) folder.remove(name);
  }
} catch (const IoError&) {
}

/// Locks a temporary file against those who sweep, if its file system has locks. Returns false if
/// one of them was faster.
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
    const bool same =
        got <= bytes.size() - offset && std::memcmp(buffer.get(), bytes.data() + offset, got) == 0;
    check<IoError>(same, path, ": the bytes read back differ from those written");
    offset += got;
  }
  check<IoError>(offset == bytes.size(), path, ": read back ", offset, " bytes of ", bytes.size());
}

/// For file systems without RENAME_NOREPLACE: creates a hard link, which never replaces a file, and
/// removes the first name. Without hard links, checks the target and renames.
int rename_by_link(int directory, const char* from, const char* to) {
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

int rename_new(int directory, const char* from, const char* to) {
  const long result = ::syscall(SYS_renameat2, directory, from, directory, to, kNoReplace);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return static_cast<int>(result);
  return rename_by_link(directory, from, to);
}

using Rename = int (*)(int directory, const char* from, const char* to);

int rename_over(int directory, const char* from, const char* to) {
  return ::renameat(directory, from, directory, to);
}

void publish(const Folder& folder, const std::string& name, std::string_view bytes, Rename rename) {
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
    if (swept) return publish(folder, name, bytes, rename);
    const Descriptor locked(::fcntl(file, F_DUPFD_CLOEXEC, 0));  // until it is renamed
    reserve(file, bytes.size(), path);
    detail::write_all(file, bytes, path);
    // After a failed fsync, the descriptor may later report success for lost data: give up, never
    // retry.
    if (uninterrupted([&] { return ::fsync(file); }) == -1) fail_io(path, "cannot sync");
    file.close(path);
    compare({directory, temporary, O_RDONLY | O_NOFOLLOW, path, "cannot read back"}, bytes, path);
    if (rename(directory, temporary.c_str(), name.c_str()) == -1) fail_io(path, "cannot create");
    own = rename == rename_new ? name : "";
    folder.sync();
  } catch (...) {
    if (!own.empty()) ::unlinkat(directory, own.c_str(), 0);
    throw;
  }
}

}  // namespace

void publish(const Folder& folder, const std::string& name, std::string_view bytes) {
  publish(folder, name, bytes, rename_new);
}

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const std::filesystem::path file(path);
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

void publish_over(const Folder& folder, const std::string& name, std::string_view bytes) {
  folder.holds(name);  // throws unless the target is a regular file or absent
  sweep_temporaries(folder, name);
  publish(folder, name, bytes, rename_over);
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
