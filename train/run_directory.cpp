#include <xgrad/train/run_directory.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/metrics_log.hpp>
#include <xgrad/train/publish.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_io(const std::string& doing, const std::string& path) {
  detail::fail<IoError>(doing, " ", path, ": ", std::strerror(errno));
}

void make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check<IoError>(!error, "cannot make the directory ", path, ": ", error.message());
}

// Claims the first free runs/<stem>, runs/<stem>-2, ...: mkdir decides between two runs that start
// at once.
std::string claim_next(const std::string& stem) {
  make_directory("runs");
  for (int number = 1;; ++number) {
    const std::string path = "runs/" + stem + (number == 1 ? "" : "-" + std::to_string(number));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) fail_io("cannot make the directory", path);
  }
}

void write_all(int fd, const std::string& bytes, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      ::close(fd);
      errno = reason;
      fail_io("cannot write to", path);
    }
    done += std::size_t(written);
  }
}

}  // namespace

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const std::string& chosen, const std::string& stem) {
  if (chosen.empty()) {
    RunDirectory run(claim_next(stem));
    run.lock();
    make_directory(run.checkpoints());
    return run;
  }
  make_directory(chosen);
  RunDirectory run(chosen);
  run.lock();
  check<IoError>(!fs::exists(run.config_path()), chosen,
                 " holds a run already; choose another run.dir, or go on with `xgrad resume ",
                 chosen, "`");
  make_directory(run.checkpoints());
  return run;
}

RunDirectory RunDirectory::open(const std::string& path) {
  RunDirectory run(path);
  check<IoError>(fs::exists(run.config_path()), path,
                 " is not a run directory: it holds no config.toml");
  run.lock();
  sweep_temporaries(run.path());
  if (fs::exists(run.checkpoints())) sweep_temporaries(run.checkpoints());
  return run;
}

void RunDirectory::lock() {
  const std::string file = path_ + "/run.lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail_io("cannot open", file);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail_io("cannot lock", file);
    const std::string owner = read_file(file);
    detail::fail<LockError>(path_, " is in use by ", owner.empty() ? "another process" : owner);
  }
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string owner = "process " + std::to_string(::getpid()) + " on " + host;
  if (::ftruncate(lock_, 0) != 0) fail_io("cannot write to", file);
  write_all(lock_, owner, file);
}

void RunDirectory::append(const std::string& file, const std::string& line) const {
  const std::string path = path_ + "/" + file;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail_io("cannot open", path);
  write_all(fd, line + "\n", path);
  if (::close(fd) != 0) fail_io("cannot write to", path);
}

void RunDirectory::cut_back(const std::string& file, std::uint64_t step) const {
  const std::string path = path_ + "/" + file;
  if (!fs::exists(path)) return;
  const std::string text = read_file(path);
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t end = text.find('\n', kept);
    if (end == std::string::npos || row_step(text.substr(kept, end - kept)) > step) break;
    kept = end + 1;
  }
  if (kept != text.size() && ::truncate(path.c_str(), off_t(kept)) != 0)
    fail_io("cannot cut", path);
}

}  // namespace xgrad
