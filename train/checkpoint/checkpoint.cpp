#include <xgrad/train/checkpoint/checkpoint.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/manifest.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

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

/// Makes a check, and names the file in its errors.
template <class Check>
void check_file(const InputFile& file, Check check) try {
  check();
} catch (const NewerFormatError& error) {
  detail::fail<NewerFormatError>(file.path(), ": ", error.what());
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(file.path(), ": ", error.what());
}

/// Checks the seal of a file by its ends, and returns them.
FileEnds check_ends(const InputFile& file) {
  FileEnds ends = read_ends(file, kSealSize);
  check_file(file, [&] { check_seal(ends.start, ends.end, ends.size); });
  return ends;
}

/// Whether the manifest lists a file of this name and, with `be_sure`, with the digest of this
/// file.
bool is_listed(const std::map<std::string, std::string>& manifest, const Folder& directory,
               const std::string& name, bool be_sure) try {
  const auto listed = manifest.find(name);
  if (listed == manifest.end()) return false;
  if (!be_sure) return true;
  const InputFile file = directory.input(name);
  check_ends(file);
  return to_hex(sha256(file, file.size())) == listed->second;
} catch (const IoError&) {
  return false;  // unreadable files are not removed
} catch (const CheckpointError&) {
  return false;
}

std::string read_sealed(const std::string& path) {
  return read_checkpoint_file(InputFile(path));
}

std::string name_of(const std::string& path) {
  return fs::path(path).filename().string();
}

Checkpoint load_any(const std::string& path, bool listed) {
  const auto named = parse_checkpoint_name(name_of(path));
  const std::string bytes = read_sealed(path);
  const Checkpoint checkpoint =
      from_hdf5(bytes, path, named ? CheckpointKind::checkpoint : CheckpointKind::any);
  check<CheckpointError>(!named || *named == checkpoint.step, path, ": holds step ",
                         checkpoint.step, ", not the step in its name");
  if (listed) check_listed(path, bytes, checkpoint);
  return checkpoint;
}

std::string damage(const std::string& path, bool listed) try {
  load_any(path, listed);
  return "";
} catch (const NewerFormatError&) {
  throw;
} catch (const CheckpointError& error) {
  return error.what();
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
                         ": the state has no entry ", name);
  const Value* value = std::get_if<Value>(&found->second);
  check<CheckpointError>(value != nullptr, "checkpoint of step ", checkpoint.step, ": the state's ",
                         name, " is not ", kTypeName<Value>);
  return *value;
}

template const std::int64_t& state_value(const Checkpoint&, const std::string&);
template const double& state_value(const Checkpoint&, const std::string&);
template const std::string& state_value(const Checkpoint&, const std::string&);

std::string read_checkpoint_file(const InputFile& file) {
  const FileEnds ends = check_ends(file);
  check_file(file, [&] { check_payload(ends.end, sha256(file, ends.size - kSealSize)); });
  return file.read(0, file.size());
}

Checkpoint load_checkpoint(const std::string& path, CheckpointKind kind) {
  return from_hdf5(read_sealed(path), path, kind);
}

// A run that was stopped during a validation overwrites its checkpoint after that validation, and
// lists only the second one.
void check_listed(const std::string& path, std::string_view bytes, const Checkpoint& checkpoint) {
  const fs::path beside = fs::path(path).parent_path();
  const auto manifest = read_manifest(beside.empty() ? "." : beside.string());
  if (!manifest || checkpoint.state.contains(kOwesValidation)) return;
  const auto listed = manifest->find(name_of(path));
  if (listed == manifest->end() || listed->second == to_hex(sha256(bytes))) return;
  detail::fail<CheckpointError>(
      path, ": is not the file that the run saved: its SHA-256 is not the one that ", kManifest,
      " lists; put the saved file back, or move this one out of the directory to go on from an "
      "earlier checkpoint. If you changed it on purpose, remove its line from ",
      kManifest);
}

Checkpoint load_listed(const std::string& path) {
  const std::string bytes = read_sealed(path);
  Checkpoint checkpoint = from_hdf5(bytes, path);
  check_listed(path, bytes, checkpoint);
  return checkpoint;
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

std::vector<CheckpointFile> list_checkpoints(const Folder& directory) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : directory.names()) {
    const auto step = parse_checkpoint_name(name);
    if (step) files.push_back({directory.path_of(name), *step});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return files;
}

std::string damage(const std::string& path) {
  return damage(path, /*listed=*/true);
}

bool verify(const std::string& path) {
  try {
    return damage(path, /*listed=*/false).empty();
  } catch (const IoError&) {
    return false;
  } catch (const NewerFormatError&) {
    return false;
  }
}

std::string latest_checkpoint(const Folder& directory, PassOver which) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  check<CheckpointError>(!files.empty(), directory.path(), ": there is no checkpoint");
  std::vector<std::string> wrong;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    directory.holds(checkpoint_name(file->step));  // throws if it is a link: runs write none
    wrong.push_back(damage(file->path, /*listed=*/which == PassOver::unsaved));
    if (wrong.back().empty()) return file->path;
  }
  detail::fail<CheckpointError>(directory.path(), ": no checkpoint can be loaded:\n  ",
                                few(wrong, "\n  "));
}

std::vector<std::string> prune(const Folder& directory, std::size_t keep, std::uint64_t best_step) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  const std::size_t most = std::max(keep, kFewest);
  std::size_t kept = 0;
  const auto manifest = read_manifest(directory);
  std::vector<std::string> removed;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::string name = checkpoint_name(file->step);
    // Hashing reads the whole file, so only the newest two and those to remove are hashed.
    const bool be_sure = kept < kFewest || kept == most;
    if (manifest ? !is_listed(*manifest, directory, name, be_sure) : !verify(file->path)) continue;
    if (kept < most) {
      ++kept;
    } else if (file->step != best_step) {
      directory.remove(name);
      removed.push_back(file->path);
    }
  }
  return removed;
}

}  // namespace xgrad
