#include <xgrad/train/sweep/claims.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {

namespace {

using detail::Descriptor;

std::string device_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) detail::fail_io(path, "cannot read");
  return std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
}

}  // namespace

std::optional<Descriptor> claim(const std::string& log) {
  const auto [parent, name] = folder_and_name(log);
  const Folder folder(parent);
  Descriptor file = folder.open(name, O_WRONLY | O_CREAT);
  folder.check_single(name);
  if (!file.lock(log)) return std::nullopt;
  return file;
}

void check_claims_work(const std::string& folder) {
  const std::string advice =
      ", so two workers could train the same run; put --out on another file system";
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string option = local_locks_option(
      std::string(std::istreambuf_iterator<char>(mounts), {}), device_of(folder));
  check<IoError>(option.empty(), folder, ": its file system is mounted with ", option,
                 ": locks are not seen by other machines", advice);

  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const Folder place(folder);
  const std::string name = std::string(".locks-") + host + "-" + std::to_string(::getpid()),
                    path = place.path_of(name);
  struct Removed {
    const std::string& path;
    ~Removed() { ::unlink(path.c_str()); }
  } const removed{path};
  const Descriptor first = place.open(name, O_WRONLY | O_CREAT),
                   second = place.open(name, O_WRONLY | O_CREAT);
  check<IoError>(first.lock(path) && !second.lock(path), folder,
                 ": locks of files have no effect here", advice);
}

// A line is "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS...] - TYPE SOURCE OPTIONS".
std::string local_locks_option(std::string_view mounts, std::string_view device) {
  static constexpr std::array kLocal = {"nolock", "localflock", "local_lock=all",
                                        "local_lock=flock"};
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> all(std::istream_iterator<std::string>(words), {});
    if (all.size() < 3 || all[2] != device) continue;
    std::istringstream options(all.back());
    for (std::string option; std::getline(options, option, ',');) {
      if (std::find(kLocal.begin(), kLocal.end(), option) != kLocal.end()) return option;
    }
  }
  return "";
}

}  // namespace xgrad
