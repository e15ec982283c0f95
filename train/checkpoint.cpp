#include <xgrad/train/checkpoint.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/formats/seal.hpp>
#include <xgrad/train/formats/sha256.hpp>
#include <xgrad/train/manifest.hpp>
#include <xgrad/train/publish.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kDigits = 10;
constexpr std::size_t kFewest = 2;

template <class Value>
constexpr const char* kTypeName = "text";
template <>
constexpr const char* kTypeName<std::int64_t> = "an integer";
template <>
constexpr const char* kTypeName<double> = "a double";

/// Whether the run has published a file of this name and, where one is to be sure, this very file.
bool is_listed(const std::map<std::string, std::string>& manifest, const std::string& path,
               bool be_sure) try {
  const auto listed = manifest.find(fs::path(path).filename().string());
  return listed != manifest.end() &&
         (!be_sure || to_hex(sha256(read_file(path))) == listed->second);
} catch (const IoError&) {
  return false;  // nothing that cannot be read is removed
}

}  // namespace

CheckpointKind kind_of(const Checkpoint& checkpoint) {
  return checkpoint.state.contains("fault") ? CheckpointKind::failed_step
                                            : CheckpointKind::checkpoint;
}

template <class Value>
const Value& state_value(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.state.find(name);
  check<CheckpointError>(found != checkpoint.state.end(), "checkpoint of step ", checkpoint.step,
                         ": the state has no ", name);
  const Value* value = std::get_if<Value>(&found->second);
  check<CheckpointError>(value != nullptr, "checkpoint of step ", checkpoint.step, ": the state's ",
                         name, " is not ", kTypeName<Value>);
  return *value;
}

template const std::int64_t& state_value(const Checkpoint&, const std::string&);
template const double& state_value(const Checkpoint&, const std::string&);
template const std::string& state_value(const Checkpoint&, const std::string&);

Checkpoint load_checkpoint(const std::string& path, CheckpointKind kind) {
  const FileEnds ends = read_ends(path, kSealSize);
  try {
    check_seal(ends.start, ends.end, ends.size);
  } catch (const CheckpointError& error) {
    detail::fail<CheckpointError>(path, ": ", error.what());
  }
  return from_hdf5(read_file(path), path, kind);
}

std::string checkpoint_name(std::uint64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return std::string(kPrefix) + digits + std::string(kSuffix);
}

std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  std::uint64_t step = 0;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  if (begin >= end || std::from_chars(begin, end, step).ptr != end) return std::nullopt;
  if (checkpoint_name(step) != name) return std::nullopt;
  return step;
}

std::vector<CheckpointFile> list_checkpoints(const std::string& directory) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : names_in(directory)) {
    const auto step = parse_checkpoint_name(name);
    if (step) files.push_back({(fs::path(directory) / name).string(), *step});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return files;
}

std::string damage(const std::string& path) try {
  const auto named = parse_checkpoint_name(fs::path(path).filename().string());
  const Checkpoint checkpoint =
      load_checkpoint(path, named ? CheckpointKind::checkpoint : CheckpointKind::any);
  if (named && *named != checkpoint.step)
    return path + ": holds step " + std::to_string(checkpoint.step);
  return "";
} catch (const CheckpointError& error) {
  return error.what();
}

bool verify(const std::string& path) {
  try {
    return damage(path).empty();
  } catch (const IoError&) {
    return false;
  }
}

std::string latest_checkpoint(const std::string& directory, std::vector<std::string>* damaged) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  std::string skipped;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::string why = damage(file->path);
    if (why.empty()) return file->path;
    skipped += "\n  " + why;
    if (damaged != nullptr) damaged->push_back(why);
  }
  check<CheckpointError>(!files.empty(), directory, ": there is no checkpoint");
  detail::fail<CheckpointError>(directory, ": no checkpoint verifies:", skipped);
}

std::vector<std::string> prune(const std::string& directory, std::size_t keep,
                               std::uint64_t best_step) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  const std::size_t most = std::max(keep, kFewest);
  std::size_t kept = 0;
  const auto manifest = read_manifest(directory);
  std::vector<std::string> removed;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    // Of the many that may stay, a few that are whole will do: each is read for it.
    const bool be_sure = kept < kFewest || kept == most;
    if (manifest ? !is_listed(*manifest, file->path, be_sure) : !verify(file->path)) continue;
    if (kept < most) {
      ++kept;
    } else if (file->step != best_step) {
      std::error_code error;
      fs::remove(file->path, error);
      check<IoError>(!error, file->path, ": cannot remove: ", error.message());
      removed.push_back(file->path);
    }
  }
  return removed;
}

}  // namespace xgrad
