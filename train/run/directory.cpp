#include <xgrad/train/run/directory.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/manifest.hpp>
#include <xgrad/train/metrics/rows.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

using detail::fail_io;

constexpr char kLock[] = "run.lock";
constexpr char kConfig[] = "config.toml";
constexpr char kConfigDigest[] = "config.sha256";
constexpr char kCheckpoints[] = "checkpoints";
// What a run appends to or replaces, the lock and the configs aside.
constexpr const char* kWritten[] = {"metrics.jsonl", "timing.jsonl", "log.txt", "report.html"};
// What the lock's file begins with, and more bytes than a run writes there.
constexpr char kOwner[] = "process ";
constexpr std::size_t kLongestOwner = 512;

// The name of a directory is on disk once the one above it is. One that may not be read cannot be
// synced.
void sync_name(const std::string& path) {
  fs::path name = fs::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  const std::string above = name.has_parent_path() ? name.parent_path().string() : ".";
  if (::access(above.c_str(), R_OK) == 0) Folder(above).sync();
}

void make_directory(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  const fs::path above = fs::path(path).lexically_normal().parent_path();
  if (!above.empty()) make_directory(above.string());
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int reason = errno;
    if (!fs::is_directory(path, ignored)) fail_io(path, "cannot make the directory", reason);
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
    if (errno != EEXIST) fail_io(path, "cannot make the directory");
  }
}

// Cuts off a line that a full disk or a kill left without its end: the next one would continue it.
void end_last_line(const Folder& folder, const std::string& name) {
  if (!folder.holds(name)) return;
  const std::string text = folder.read(name);
  const std::size_t kept = text.rfind('\n') + 1;  // 0 where there is none
  if (kept != text.size()) folder.truncate(name, kept);
}

std::string start_of(int file) {
  char bytes[kLongestOwner];
  const ssize_t size = ::pread(file, bytes, sizeof bytes, 0);
  return size > 0 ? std::string(bytes, std::size_t(size)) : "";
}

// Whether the lock's file holds what a run wrote. A power failure may leave a part of that, and
// zeros in the place of the rest.
bool is_owner(const std::string& text) {
  const std::string_view start = kOwner;
  for (std::size_t i = 0; i < std::min(text.size(), start.size()); ++i) {
    if (text[i] != start[i] && text[i] != '\0') return false;
  }
  return text.size() < kLongestOwner;
}

// Who has the lock. It writes its name right after it got it, so this waits for a moment.
std::string owner_of(int lock) {
  std::string name;
  for (int tries = 0; tries < 100 && name.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    name = start_of(lock);
  }
  return name.empty() ? "another process" : name;
}

// What a new run would take for its own, of another run or of somebody else: its name, or nothing.
std::string remains(const Folder& folder) {
  if (folder.holds_folder(kCheckpoints) && !list_checkpoints({folder, kCheckpoints}).empty()) {
    return kCheckpoints;
  }
  for (const std::string name : kWritten) {
    // A run that was killed before its first step leaves an empty log.
    if (folder.holds(name) && !folder.read(name).empty()) return name;
  }
  return "";
}

}  // namespace

RunDirectory::RunDirectory(std::string path) : folder_(std::move(path)) {}

void RunDirectory::check_unused() const {
  check<IoError>(!folder_.holds(kConfig), path(),
                 " holds a run already; choose another run.dir, or go on with `xgrad resume ",
                 path(), "`");
  const std::string other = remains(folder_);
  check<IoError>(other.empty(), path(), " holds ", other,
                 " but no config.toml: not of this run; choose another run.dir");
}

void RunDirectory::check_files() const {
  for (const char* name : {kLock, kConfig, kConfigDigest}) folder_.holds(name);
  for (const char* name : kWritten) folder_.holds(name);
  if (!folder_.holds_folder(kCheckpoints)) return;
  const Folder checkpoints(folder_, kCheckpoints);
  checkpoints.holds(kManifest);
  for (const CheckpointFile& file : list_checkpoints(checkpoints)) {
    checkpoints.holds(checkpoint_name(file.step));
  }
}

RunDirectory RunDirectory::create(const std::string& chosen, const std::string& stem) {
  if (!chosen.empty()) make_directory(chosen);
  RunDirectory run(chosen.empty() ? claim_next(stem) : chosen);
  run.check_files();
  // Before the lock, so that a directory that is refused is left as it is; where somebody may hold
  // the lock, after it.
  if (!run.folder_.holds(kLock)) run.check_unused();
  run.lock();
  run.check_unused();
  run.furnish();
  return run;
}

RunDirectory RunDirectory::open(const std::string& path) {
  RunDirectory run(path);
  check<IoError>(run.folder_.holds(kConfig), path,
                 " is not a run directory: it holds no config.toml");
  run.check_files();
  run.lock();
  run.furnish();
  return run;
}

void RunDirectory::lock() {
  const std::string file = folder_.path_of(kLock);
  lock_.emplace(folder_.open(kLock, O_RDWR | O_CREAT));
  if (::flock(*lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail_io(file, "cannot lock");
    detail::fail<LockError>(path(), " is in use by ", owner_of(*lock_));
  }
  check<IoError>(is_owner(start_of(*lock_)), file,
                 ": is not the lock of a run; choose another run.dir, or remove it");
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  if (::ftruncate(*lock_, 0) != 0) fail_io(file, "cannot write");
  detail::write_all(*lock_, kOwner + std::to_string(::getpid()) + " on " + host, file);
}

void RunDirectory::furnish() {
  sync_name(path());
  sweep_temporaries(folder_);
  folder_.make_folder(kCheckpoints);
  checkpoints_.emplace(folder_, kCheckpoints);
  sweep_temporaries(*checkpoints_);
  folder_.open("metrics.jsonl", O_WRONLY | O_CREAT);
  end_last_line(folder_, "log.txt");
  end_last_line(*checkpoints_, kManifest);
  folder_.sync();
}

// The digest first: with the older config it says nothing.
void RunDirectory::replace_config(const std::string& text) const {
  publish_over(folder_, kConfigDigest, manifest_line(kConfig, text) + "\n");
  publish_over(folder_, kConfig, text);
}

bool RunDirectory::config_was_replaced() const {
  return folder_.holds(kConfigDigest) &&
         folder_.read(kConfigDigest) == manifest_line(kConfig, folder_.read(kConfig)) + "\n";
}

void RunDirectory::cut_back(const std::string& file, std::uint64_t step, bool validated) const {
  if (!folder_.holds(file)) return;
  const std::string text = folder_.read(file);
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
  if (kept != text.size()) folder_.truncate(file, kept);
}

}  // namespace xgrad
