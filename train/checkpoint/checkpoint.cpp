#include <xgrad/train/checkpoint/checkpoint.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

namespace xgrad {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kFewest = 2;
constexpr std::size_t kDigest = 64;  // digits of a digest in the manifest
constexpr std::string_view kBetween = "  ";
constexpr std::size_t kMostOfPath = 1000;  // bytes of a path in a message

// A run that was stopped during a validation saves a checkpoint that owes this validation. The
// resumed run overwrites it after the validation, and lists only the second checkpoint in the
// manifest.
static void check_listed(const SavedCheckpoint& checkpoint, const fs::path& path) {
  if (checkpoint.state.contains(kOwesValidation)) return;
  const fs::path beside = path.parent_path();
  const auto manifest = read_manifest(beside.empty() ? "." : beside.string());
  const auto listed = manifest.find(path.filename().string());
  check<UnsavedError>(
      listed == manifest.end() || listed->second == checkpoint.sha256, path.string(), kUnsaved,
      ": its SHA-256 is not the one that ", kManifest,
      " lists; put the saved file back, or move this one out of the directory to resume from an "
      "earlier checkpoint. If you changed it on purpose, remove its line from ",
      kManifest);
}

// Whether a file has this digest; false if it cannot be read, because such a file must not lead to
// the removal of others.
static bool has_digest(const Folder& folder, const std::string& name, const std::string& hash) try {
  const InputFile file = folder.input(name);
  return to_hex(sha256(file, file.size())) == hash;
} catch (const IoError&) {
  return false;
}

CheckpointKind kind_of(const Checkpoint& saved) {
  return saved.state.contains("fault") ? CheckpointKind::failed_step : CheckpointKind::checkpoint;
}

template <class Value>
const Value& state_value(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.state.find(name);
  check<CheckpointError>(found != checkpoint.state.end(), "checkpoint of step ", checkpoint.step,
                         ": the state has no entry ", name);
  const Value* value = std::get_if<Value>(&found->second);
  check<CheckpointError>(value != nullptr, "checkpoint of step ", checkpoint.step, ": the state's ",
                         name, " is of another type");
  return *value;
}

template const std::int64_t& state_value(const Checkpoint&, const std::string&);
template const double& state_value(const Checkpoint&, const std::string&);
template const std::string& state_value(const Checkpoint&, const std::string&);

static void hash_tensors(const char* kind, const std::vector<NamedTensor>& tensors,
                         Sha256Stream& hash) {
  for (const auto& [name, tensor] : tensors) {
    const int bits = std::holds_alternative<Tensor<float>>(tensor) ? 32 : 64;
    const std::string shape = fmt::format("{}", fmt::join(shape_of(tensor), "x"));
    hash.add(fmt::format("{} {} float{} {}\n", kind, name, bits, shape));
    hash.add(bytes_of(tensor));
  }
}

std::string state_hash(const Checkpoint& checkpoint) {
  Sha256Stream hash;
  hash.add(fmt::format("step {}\n", checkpoint.step));
  hash_tensors("parameter", checkpoint.parameters, hash);
  hash_tensors("optimizer", checkpoint.optimizer, hash);
  return to_hex(hash.value());
}

std::string manifest_line(const std::string& name, std::string_view bytes) {
  return to_hex(sha256(bytes)) + std::string(kBetween) + name;
}

void add_to_manifest(const Folder& directory, const std::string& name, const std::string& sha256) {
  directory.append(kManifest, sha256 + std::string(kBetween) + name);
  directory.sync(kManifest);
}

std::optional<std::pair<std::string, std::string>> parse_manifest_line(std::string_view line) {
  const std::size_t name = kDigest + kBetween.size();
  const bool good = line.size() > name && line.substr(kDigest, kBetween.size()) == kBetween &&
                    line.find_first_not_of("0123456789abcdef") == kDigest;
  if (!good) return std::nullopt;
  return std::pair<std::string, std::string>(line.substr(name), line.substr(0, kDigest));
}

std::map<std::string, std::string> read_manifest(const Folder& directory) {
  std::map<std::string, std::string> digests;
  if (!directory.holds(kManifest)) return digests;
  Lines lines(directory.input(kManifest));
  for (std::string line; lines.next(line);) {
    if (const auto entry = parse_manifest_line(line)) digests[entry->first] = entry->second;
  }
  return digests;
}

SavedCheckpoint load_checkpoint(const std::string& path, CheckpointKind kind) {
  SavedCheckpoint saved = read_checkpoint(InputFile(path), kind);
  const auto named = parse_checkpoint_name(fs::path(path).filename().string());
  check<CheckpointError>(named.value_or(saved.step) == saved.step, path, ": holds step ",
                         saved.step, ", not the step in its name");
  check_listed(saved, path);
  return saved;
}

std::string find_damage(const std::string& path) try {
  const bool named = parse_checkpoint_name(fs::path(path).filename().string()).has_value();
  load_checkpoint(path, named ? CheckpointKind::checkpoint : CheckpointKind::any);
  return "";
} catch (const NewerFormatError&) {
  throw;
} catch (const CheckpointError& error) {
  return error.what();
}

std::string checkpoint_name(std::uint64_t step) {
  return fmt::format("{}{:010}{}", kPrefix, step, kSuffix);
}

std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name) {
  if (name.size() < kPrefix.size() + kSuffix.size()) return std::nullopt;
  std::uint64_t step = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size() - kSuffix.size(), step);
  return checkpoint_name(step) == name ? std::optional(step) : std::nullopt;
}

std::vector<CheckpointFile> list_checkpoints(const Folder& directory) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : directory.names()) {
    const auto step = parse_checkpoint_name(name);
    if (step) files.push_back({directory.path_of(name), *step});
  }
  std::ranges::sort(files, {}, &CheckpointFile::step);
  return files;
}

SavedCheckpoint latest_checkpoint(const Folder& directory, PassOver which) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  check<CheckpointError>(!files.empty(), directory.path(), ": there is no checkpoint");
  std::vector<std::string> wrong;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    directory.holds(checkpoint_name(file->step));  // throws if it is a link: runs write none
    try {
      return load_checkpoint(file->path);
    } catch (const NewerFormatError&) {
      throw;
    } catch (const UnsavedError& error) {
      if (which == PassOver::damaged) throw;
      wrong.push_back(error.what());
    } catch (const CheckpointError& error) {
      wrong.push_back(error.what());
    }
  }
  detail::fail<CheckpointError>(directory.path(), ": no checkpoint can be loaded:\n  ",
                                few(wrong, "\n  "));
}

std::optional<SavedCheckpoint> best_checkpoint(const Folder& directory, const TrainConfig& train,
                                               const Checkpoint& last) try {
  // After a change of train.best_metric, no step is the best yet.
  if (!train.keep_best || !last.state.contains("best_" + train.best_metric)) return std::nullopt;
  const auto step = std::uint64_t(state_value<std::int64_t>(last, "best_step"));
  if (step == 0 || step == last.step) return std::nullopt;
  const std::string name = checkpoint_name(step), path = directory.path_of(name);
  check<CheckpointError>(directory.holds(name), path, ": is missing");
  return load_checkpoint(path);
} catch (const NewerFormatError&) {
  throw;
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(
      error.what(), "\n  it is the best checkpoint of the run ",
      "(train.keep_best); to take the last one instead, use --last (in Python last=True), "
      "or train.keep_best=false to continue a run");
}

std::vector<std::string> prune(const Folder& directory, std::size_t keep, std::uint64_t best_step) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  const std::size_t most = std::max(keep, kFewest);
  std::size_t kept = 0;
  const auto manifest = read_manifest(directory);
  std::vector<std::string> removed;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::string name = checkpoint_name(file->step);
    const auto listed = manifest.find(name);
    if (listed == manifest.end()) continue;
    // Hashing reads the whole file, so hashes only the newest two files and the files to remove.
    const bool be_sure = kept < kFewest || kept == most;
    if (be_sure && !has_digest(directory, name, listed->second)) continue;
    if (kept < most) {
      ++kept;
    } else if (file->step != best_step) {
      directory.remove(name);
      removed.push_back(file->path);
    }
  }
  return removed;
}

fs::file_status status_of(const fs::path& path) {
  std::error_code why;
  const fs::file_status status = fs::status(path, why);
  check<IoError>(status.type() != fs::file_type::none, clipped(path.string(), kMostOfPath), ": ",
                 why.message());
  return status;
}

void check_is_run(const Folder& folder) {
  check<IoError>(folder.holds("config.toml"), folder.path(),
                 " is not a run directory: it holds no config.toml");
}

std::string own_data(const std::string& directory, const std::string& path) {
  const fs::path file = path;
  if (directory.empty() || file.parent_path().filename() != "data") return "";
  for (const char* place : {"data", "../data"}) {
    const fs::path own = place / file.filename();
    if (fs::exists(status_of(fs::path(directory) / own))) return own.string();
  }
  return "";
}

void follow_own_data(Config& config, const std::string& directory,
                     const std::vector<std::string>& overrides) {
  for (auto& [name, value] : config.task_options) {
    const auto* file = std::get_if<std::string>(&value);
    const auto sets = [&](const std::string& word) { return word.starts_with("task." + name); };
    if (!file || std::ranges::any_of(overrides, sets)) continue;
    const std::string own = own_data(directory, *file);
    if (own.empty() || fs::exists(status_of(*file))) continue;
    value = fs::absolute(fs::path(directory) / own).lexically_normal().string();
  }
}

FoundRun find_run(const std::string& path, const std::vector<std::string>& overrides, Take take) {
  std::string directory;
  SavedCheckpoint saved;
  const fs::file_status status = status_of(path);
  if (fs::is_directory(status)) {
    const Folder folder(path);
    check_is_run(folder);
    directory = path;
    const Folder checkpoints(folder, "checkpoints");
    const auto newest = [&] {
      return latest_checkpoint(checkpoints,
                               take == Take::resumed ? PassOver::unsaved : PassOver::damaged);
    };
    saved = newest();
    while (take == Take::model) {
      const std::string own = folder.path_of("config.toml");
      const TrainConfig train = load_config(own, overrides, ConfigWriter::xgrad).train;
      try {
        if (auto best = best_checkpoint(checkpoints, train, saved)) saved = std::move(*best);
        break;
      } catch (const Error&) {  // a run in training may remove it for a better one at any moment
        const std::uint64_t before = saved.step;
        saved = newest();
        if (saved.step == before) throw;
      }
    }
  } else {
    check<IoError>(fs::exists(status), clipped(path, kMostOfPath),
                   ": no such run directory or checkpoint");
    saved = load_checkpoint(path);
    const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
    const fs::path run = folder.parent_path();
    if (folder.filename() == "checkpoints" && fs::exists(status_of(run / "config.toml"))) {
      directory = fs::proximate(run).string();
    }
  }
  check<CheckpointError>(!saved.config.empty(), clipped(saved.file, kMostOfPath),
                         ": holds weights without a config; give a run directory or one of its "
                         "checkpoints, or add a config to the weights with `xgrad import --from "
                         "hdf5 --config CONFIG --out NEW.h5`");
  Config config =
      parse_config(saved.config, saved.file + ":config", overrides, ConfigWriter::xgrad);
  follow_own_data(config, directory, overrides);
  return {directory, saved.file, std::move(saved), std::move(config)};
}

}  // namespace xgrad
