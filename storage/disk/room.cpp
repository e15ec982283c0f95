#include <xgrad/storage/disk/room.hpp>

#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

namespace fs = std::filesystem;

void check_room(const std::string& path, std::size_t bytes, const std::string& what) {
  fs::path place = fs::absolute(path).lexically_normal();
  std::error_code ignored;  // a name that is too long does not exist either
  while (!fs::exists(place, ignored) && place.has_relative_path()) place = place.parent_path();
  struct statvfs status;
  if (detail::uninterrupted([&] { return ::statvfs(place.c_str(), &status); }) == -1) {
    detail::fail_io(path, "cannot find out the free space");
  }
  const std::uint64_t free = std::uint64_t(status.f_bavail) * status.f_frsize;
  check<IoError>(bytes <= free, path, ": ", what, " need ", bytes, " bytes, but only ", free,
                 " are free");
}

}  // namespace xgrad
