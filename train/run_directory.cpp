#include <xgrad/train/run_directory.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint.hpp>
#include <xgrad/train/descriptor.hpp>
#include <xgrad/train/manifest.hpp>
#include <xgrad/train/metrics_log.hpp>
#include <xgrad/train/publish.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr char kConfigDigest[] = "config.sha256";

[[noreturn]] void fail_io(const std::string& doing, const std::string& path, int error = errno) {
  detail::fail<IoError>(doing, " ", path, ": ", std::strerror(error));
}

// The name of a directory is on disk once the one above it is. One that may not be read cannot be
// synced.
void sync_name(const std::string& path) {
  fs::path name = fs::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  const std::string above = name.has_parent_path() ? name.parent_path().string() : ".";
  if (::access(above.c_str(), R_OK) == 0) sync(above);
}

void make_directory(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  const fs::path above = fs::path(path).lexically_normal().parent_path();
  if (!above.empty()) make_directory(above.string());
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int reason = errno;
    if (!fs::is_directory(path, ignored)) fail_io("cannot make the directory", path, reason);
  }
  sync_name(path);
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
    if (written < 0) fail_io("cannot write to", path);
    done += std::size_t(written);
  }
}

// Cuts off a line that a full disk or a kill left without its end: the next one would continue it.
void end_last_line(const std::string& path) {
  if (!fs::is_regular_file(path)) return;
  const std::string text = read_file(path);
  const std::size_t kept = text.rfind('\n') + 1;  // 0 where there is none
  if (kept != text.size() && ::truncate(path.c_str(), off_t(kept)) != 0)
    fail_io("cannot cut", path);
}

// Who has the lock. It writes its name right after it got it, so this waits for a moment.
std::string owner_of(int lock) {
  char name[512];
  ssize_t size = 0;
  for (int tries = 0; tries < 100 && size <= 0; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    size = ::pread(lock, name, sizeof name, 0);
  }
  return size > 0 ? std::string(name, std::size_t(size)) : "another process";
}

}  // namespace

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

// What a new run would take for its own, of another run or of somebody else: its name, or nothing.
static std::string remains(const RunDirectory& run) {
  if (fs::exists(run.checkpoints()) && !list_checkpoints(run.checkpoints()).empty()) {
    return "checkpoints";
  }
  for (const std::string name : {"metrics.jsonl", "timing.jsonl", "log.txt", "report.html"}) {
    const std::string path = run.path() + "/" + name;
    // A run that was killed before its first step leaves an empty log.
    if (fs::is_regular_file(path) && fs::file_size(path) > 0) return name;
  }
  return "";
}

RunDirectory RunDirectory::create(const std::string& chosen, const std::string& stem) {
  if (!chosen.empty()) make_directory(chosen);
  RunDirectory run(chosen.empty() ? claim_next(stem) : chosen);
  run.lock();
  check<IoError>(!fs::exists(run.config_path()), run.path(),
                 " holds a run already; choose another run.dir, or go on with `xgrad resume ",
                 run.path(), "`");
  const std::string other = remains(run);
  check<IoError>(other.empty(), run.path(), " holds ", other,
                 " but no config.toml: not of this run; choose another run.dir");
  run.furnish();
  return run;
}

RunDirectory RunDirectory::open(const std::string& path) {
  RunDirectory run(path);
  check<IoError>(fs::exists(run.config_path()), path,
                 " is not a run directory: it holds no config.toml");
  run.lock();
  run.furnish();
  return run;
}

void RunDirectory::lock() {
  const std::string file = path_ + "/run.lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail_io("cannot open", file);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail_io("cannot lock", file);
    detail::fail<LockError>(path_, " is in use by ", owner_of(lock_));
  }
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string owner = "process " + std::to_string(::getpid()) + " on " + host;
  if (::ftruncate(lock_, 0) != 0) fail_io("cannot write to", file);
  write_all(lock_, owner, file);
}

void RunDirectory::furnish() const {
  sync_name(path_);
  sweep_temporaries(path_);
  make_directory(checkpoints());
  sweep_temporaries(checkpoints());
  open_log("metrics.jsonl");
  end_last_line(path_ + "/log.txt");
  end_last_line(checkpoints() + "/" + kManifest);
  sync(path_);
}

// The digest first: with the older config it says nothing.
void RunDirectory::replace_config(const std::string& text) const {
  publish_over(path_, kConfigDigest, manifest_line("config.toml", text) + "\n");
  publish_over(path_, "config.toml", text);
}

bool RunDirectory::config_was_replaced() const {
  const std::string digest = path_ + "/" + kConfigDigest;
  return fs::exists(digest) &&
         read_file(digest) == manifest_line("config.toml", read_file(config_path())) + "\n";
}

detail::Descriptor RunDirectory::open_log(const std::string& file) const {
  const std::string path = path_ + "/" + file;
  return {AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT, path, "cannot open"};
}

void RunDirectory::append(const std::string& file, const std::string& line) const {
  const std::string path = path_ + "/" + file;
  detail::Descriptor log = open_log(file);
  write_all(log, line + "\n", path);
  log.close(path);
}

void RunDirectory::sync_log(const std::string& file) const {
  sync(path_ + "/" + file);
}

void RunDirectory::cut_back(const std::string& file, std::uint64_t step, bool validated) const {
  const std::string path = path_ + "/" + file;
  if (!fs::exists(path)) return;
  const std::string text = read_file(path);
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t end = text.find('\n', kept);
    if (end == std::string::npos) break;
    const std::string row = text.substr(kept, end - kept);
    const std::uint64_t taken = row_step(row);
    if (taken > step) break;
    if (!validated && taken == step && row_split(row) == "validation") break;
    kept = end + 1;
  }
  if (kept != text.size() && ::truncate(path.c_str(), off_t(kept)) != 0)
    fail_io("cannot cut", path);
}

}  // namespace xgrad
