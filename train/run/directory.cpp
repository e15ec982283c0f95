#include <xgrad/train/run/directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string_view>
#include <thread>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

namespace fs = std::filesystem;

using detail::fail_io;

constexpr char kLock[] = "run.lock";
constexpr char kConfig[] = "config.toml";
constexpr char kConfigDigest[] = "config.sha256";
constexpr char kCheckpoints[] = "checkpoints";
constexpr char kReport[] = "report.html";
constexpr char kCsv[] = "metrics.csv";
constexpr const char* kLogs[] = {"metrics.jsonl", "timing.jsonl", kDigests, "log.txt"};
constexpr char kBad[] = ".bad";             // ends the name of the file of a log's bad lines
constexpr std::size_t kLongestOwner = 512;  // above the length of a lock file's text

// The directory that holds the last part of a path. Does not remove "..", because x/.. is not the
// current directory if x is a link.
static std::string above(const std::string& path) {
  fs::path name(path);
  if (!name.has_filename()) name = name.parent_path();  // ends with a slash
  return name.has_parent_path() ? name.parent_path().string() : ".";
}

// A new directory survives a power failure once its parent is synced, which needs to be readable.
static void sync_name(const std::string& path) {
  const std::string parent = above(path);
  if (::access(parent.c_str(), R_OK) == 0) Folder(parent).sync();
}

// Creates the first free runs/<stem>, runs/<stem>-2, ...; mkdir decides between two processes.
static std::string claim_next(const std::string& stem) {
  make_directory("runs");
  for (int number = 1;; ++number) {
    const std::string path = "runs/" + stem + (number == 1 ? "" : "-" + std::to_string(number));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) fail_io(path, "cannot create the directory");
  }
}

// Removes an incomplete last line, left by a full disk or a kill: the next line would continue it.
static void end_last_line(const Folder& folder, const std::string& name) {
  if (!folder.holds(name)) return;
  const InputFile file = folder.input(name);
  const std::size_t size = std::min<std::uint64_t>(file.size(), kMostLine + 1);
  const std::string end = file.read(file.size() - size, size);
  const std::size_t kept = end.rfind('\n') + 1;  // 0 if there is none
  check<IoError>(kept > 0 || size <= kMostLine, file.path(), ": its last line has more than ",
                 kMostLine, " bytes");
  if (kept != size) folder.truncate(name, file.size() - size + kept);
}

static std::string start_of(int file) {
  char bytes[kLongestOwner];
  const ssize_t size = ::pread(file, bytes, sizeof bytes, 0);
  return size > 0 ? std::string(bytes, std::size_t(size)) : "";
}

// "process 4711 on host"
static std::string owner(int process = ::getpid()) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(process) + " on " + host;
}

// Whether a text is one of owner(), or what a power failure leaves of one: a part, then zeros.
static bool is_owner(const std::string& text) {
  static const std::regex known("process [0-9]+( | o| on| on [^ \n]*)?");
  const std::string start = text.substr(0, text.find('\0'));
  return text.size() < kLongestOwner &&
         (std::string_view("process ").starts_with(start) || std::regex_match(start, known));
}

// Whether the text names a process of this host that does not exist.
static bool is_dead(const std::string& name) {
  const int process = std::atoi(name.substr(std::min(name.find(' '), name.size())).c_str());
  return process > 0 && name == owner(process) && ::kill(process, 0) != 0 && errno == ESRCH;
}

// The process that holds the lock. It writes its name a moment after it gets the lock; until then,
// the file may hold the name of a process that was killed.
static std::string owner_of(int lock) {
  std::string name;
  for (int tries = 0; tries < 100 && (name.empty() || is_dead(name)); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    name = start_of(lock);
  }
  return name.empty() ? "another process" : name;
}

// The name of a file in the folder that a new run would take for its own; empty if there is none.
// An empty log does not count, because a run that was killed before its first step leaves one.
static std::string remains(const Folder& folder) {
  const auto has_bytes = [](const Folder& in, const std::string& name) {
    return in.holds(name) && in.input(name).size() > 0;
  };
  if (folder.holds_folder(kCheckpoints)) {
    const Folder checkpoints(folder, kCheckpoints);
    if (!list_checkpoints(checkpoints).empty()) return kCheckpoints;
    if (has_bytes(checkpoints, kManifest)) return std::string(kCheckpoints) + "/" + kManifest;
  }
  for (const char* name :
       {kLogs[0], kLogs[1], kLogs[2], kLogs[3], kCsv, kReport, kConfigDigest, kCertificate}) {
    if (has_bytes(folder, name)) return name;
  }
  return "";
}

// Refuses a manifest with a line that no run could have added, because a run would append to it. A
// power failure may leave zeros in a line; a kill may truncate the last one.
static void check_manifest(const Folder& checkpoints) {
  if (!checkpoints.holds(kManifest)) return;
  const std::string whole = manifest_line(checkpoint_name(0), "");
  Lines lines(checkpoints.input(kManifest));
  for (std::string line; lines.next(line);) {
    if (line.find('\0') != line.npos) continue;
    if (!lines.has_end() && line.size() < whole.size()) line += whole.substr(line.size());
    const auto entry = parse_manifest_line(line);
    check<IoError>(
        entry && (entry->first == kListedCertificate || parse_checkpoint_name(entry->first)),
        checkpoints.path_of(kManifest), ": line ", lines.number(),
        " is not one that xgrad writes; remove it, or the file");
  }
}

// The lines of the manifest: the line for the certificate, or all other lines.
static std::string listed(const Folder& checkpoints, bool certificate) {
  std::string text;
  Lines lines(checkpoints.input(kManifest));
  for (std::string line; lines.next(line);) {
    const auto entry = parse_manifest_line(line);
    if ((entry && entry->first == kListedCertificate) == certificate) text += line + "\n";
  }
  return text;
}

// Refuses a config.sha256 of another program, because a run would replace it.
static void check_config_digest(const Folder& folder) {
  if (!folder.holds(kConfigDigest)) return;
  const std::string text = folder.read(kConfigDigest, kMostLine);
  const auto entry = parse_manifest_line(text.substr(0, text.find('\n')));
  check<IoError>(entry && text == entry->second + "  " + kConfig + "\n",
                 folder.path_of(kConfigDigest), ": is not what xgrad writes; remove it");
}

void make_directory(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  make_directory(above(path));
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int reason = errno;
    if (!fs::is_directory(path, ignored)) fail_io(path, "cannot create the directory", reason);
  }
  sync_name(path);
}

// Throws IoError if the folder holds a run, or files that a run would take for its own.
static void check_unused(const Folder& folder) {
  const std::string& path = folder.path();
  check<IoError>(!folder.holds(kConfig), path,
                 " already holds a run; choose another run.dir, or continue it with `xgrad resume ",
                 path, "`");
  const std::string other = remains(folder);
  check<IoError>(other.empty(), path, " holds ", other,
                 " but no config.toml, so it is not a run directory; choose another run.dir");
}

// Throws IoError if a file of a run is not a regular file, or if runs write it in place and it has
// several hard links.
static void check_files(const Folder& folder) {
  for (const char* name : {kLock, kConfig, kConfigDigest, kCsv, kReport, kCertificate}) {
    folder.holds(name);
  }
  for (const std::string log : kLogs) {
    for (const std::string& name : {log, log + kBad}) {
      folder.holds(name);
      folder.check_single(name);
    }
  }
  if (!folder.holds_folder(kCheckpoints)) return;
  const Folder checkpoints(folder, kCheckpoints);
  checkpoints.holds(kManifest);
  checkpoints.check_single(kManifest);
  for (const CheckpointFile& file : list_checkpoints(checkpoints)) {
    checkpoints.holds(checkpoint_name(file.step));
  }
}

// Locks the directory and removes temporary files of a killed run. Throws LockError, IoError.
static detail::Descriptor locked(const Folder& folder) {
  const std::string file = folder.path_of(kLock), mine = owner();
  // The file is empty until the process that gets the lock writes its name.
  detail::Descriptor lock = folder.open(kLock, O_RDWR | O_CREAT);
  if (!lock.lock(file)) detail::fail<LockError>(folder.path(), " is in use by ", owner_of(lock));
  const std::string before = start_of(lock);
  check<IoError>(is_owner(before), file, ": is not the lock file of a run; ",
                 folder.holds(kConfig) ? "remove it" : "choose another run.dir, or remove it");
  sweep_temporaries(folder);
  folder.check_single(kLock);
  if (before == mine) return lock;
  // Emptied first: a kill in between leaves an empty lock, not a mixture of two names.
  if (::ftruncate(lock, 0) != 0) fail_io(file, "cannot write");
  detail::write_all(lock, mine, file);
  return lock;
}

// Creates missing files and syncs their names, so that a power failure does not lose the folder of
// the checkpoints and keep the rest.
RunDirectory::RunDirectory(Folder folder, detail::Descriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)), checkpoints_([&] {
        sync_name(path());
        folder_.make_folder(kCheckpoints);
        return Folder(folder_, kCheckpoints);
      }()) {
  sweep_temporaries(checkpoints_);
  checkpoints_.open(kManifest, O_WRONLY | O_CREAT);
  end_last_line(checkpoints_, kManifest);
  checkpoints_.sync();
  folder_.open("metrics.jsonl", O_WRONLY | O_CREAT);
  end_last_line(folder_, "log.txt");
  folder_.sync();
}

RunDirectory RunDirectory::create(const std::string& chosen, const std::string& stem) {
  if (!chosen.empty()) make_directory(chosen);
  Folder folder(chosen.empty() ? claim_next(stem) : chosen);
  check_files(folder);
  // A refused directory stays unchanged. If there is a lock, only the checks after locking count.
  try {
    if (!folder.holds(kLock)) check_unused(folder);
  } catch (const IoError&) {
    if (!folder.holds(kLock)) throw;
  }
  detail::Descriptor lock = locked(folder);
  check_unused(folder);
  return {std::move(folder), std::move(lock)};
}

RunDirectory RunDirectory::open(const std::string& path) {
  Folder folder(path);
  check_is_run(folder);
  check_files(folder);
  check_config_digest(folder);
  if (folder.holds_folder(kCheckpoints)) check_manifest({folder, kCheckpoints});
  detail::Descriptor lock = locked(folder);
  return {std::move(folder), std::move(lock)};
}

// Writes the digest first. After a crash in between, the digest matches no config, so
// config_was_replaced() is false.
void RunDirectory::replace_config(const std::string& text) const {
  publish_over(folder_, kConfigDigest, manifest_line(kConfig, text) + "\n");
  publish_over(folder_, kConfig, text);
}

// After a crash in between, the manifest does not match the certificate, and `xgrad verify` reports
// it.
void RunDirectory::replace_certificate(const std::string& text) const {
  publish_over(
      checkpoints_, kManifest,
      listed(checkpoints_, /*certificate=*/false) + manifest_line(kListedCertificate, text) + "\n");
  publish_over(folder_, kCertificate, text);
}

void RunDirectory::forget_checkpoints() const {
  if (listed(checkpoints_, /*certificate=*/false).empty()) return;
  publish_over(checkpoints_, kManifest, listed(checkpoints_, /*certificate=*/true));
}

bool RunDirectory::config_was_replaced() const {
  constexpr std::size_t most = detail::kMostConfigBytes;
  return folder_.holds(kConfigDigest) &&
         folder_.read(kConfigDigest, most) ==
             manifest_line(kConfig, folder_.read(kConfig, most)) + "\n";
}

// After a crash in between, the next resume moves the bad lines again.
std::string RunDirectory::cut_back(const std::string& file, std::uint64_t step,
                                   bool validated) const {
  if (!folder_.holds(file)) return "";
  const RowsUntil found = rows_until(folder_, file, step, validated);
  if (found.bad.empty()) {
    if (found.end != folder_.input(file).size()) folder_.truncate(file, found.end);
    if (!found.has_end) folder_.append(file, "");
    return "";
  }
  const std::string aside = file + kBad;
  std::string rows, bad;
  std::vector<std::string> numbers;
  Lines lines(folder_.input(file));
  for (std::string line; lines.position() < found.end && lines.next(line);) {
    const bool is_bad = std::binary_search(found.bad.begin(), found.bad.end(), lines.number());
    (is_bad ? bad : rows) += line + "\n";
    if (is_bad) numbers.push_back(std::to_string(lines.number()));
  }
  bad.pop_back();  // append() ends the last line
  folder_.append(aside, bad);
  folder_.sync(aside);
  folder_.sync();
  publish_over(folder_, file, rows);
  return folder_.path_of(file) + ": not rows of this run, moved to " + folder_.path_of(aside) +
         (numbers.size() == 1 ? ": line " : ": lines ") + few(numbers, ", ");
}

}  // namespace xgrad
