// Checkpoint: the tensors and the state of a run at one step. Functions write and read checkpoint
// files, keep the manifest of a run, which lists its checkpoints, and find runs on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

class InputFile;
struct Batch;

/// The saved state of a run, or only a model's weights.
struct Checkpoint {
  std::uint64_t step = 0;  ///< number of steps taken
  /// "encoder.layers.0.norm1.weight", in the model's order
  std::vector<NamedTensor> parameters = {};
  std::vector<NamedTensor> optimizer = {};  ///< "exp_avg.encoder.layers.0.norm1.weight", ...
  std::vector<NamedTensor> batches = {};    ///< micro-batches of a failed step: "0.ids", ...
  /// Loader position, best metric and others. Values may be infinite but not NaN.
  std::map<std::string, StateValue> state = {};
  std::string config = {};  ///< resolved TOML, without execution keys such as train.threads
};

/// Name of the state entry that holds what the task learned from its data, such as a vocabulary.
inline constexpr const char* kLearned = "task";
/// Name of a state entry. A checkpoint has this entry if the run was stopped before the validation
/// of the checkpoint's step ended. The resumed run first validates this step.
inline constexpr const char* kOwesValidation = "owes_validation";

/// Returns an entry of the state. Throws CheckpointError if it is missing or not a Value.
template <class Value>
const Value& state_value(const Checkpoint& checkpoint, const std::string& name);

/// Returns one line for each difference: the step, config keys, state entries, and tensors. For a
/// tensor, the line says how many numbers differ and the largest difference, also in ulp (units in
/// the last place). Empty if both checkpoints are equal to the bit.
std::vector<std::string> differences(const Checkpoint& a, const Checkpoint& b);

/// The SHA-256, as 64 hexadecimal digits, of the step, the parameters and the optimizer's tensors.
/// The hashed bytes are "step 200\n", then for every tensor, in the model's order, a line and its
/// numbers, little-endian. The line is "parameter encoder.norm.weight float32 64\n" or "optimizer
/// exp_avg.head.weight float32 4x64\n". The hash does not depend on the config's text, the version
/// of xgrad or the HDF5 library.
std::string state_hash(const Checkpoint& checkpoint);

/// Contents of a file: a checkpoint that a run can resume from, or a failed step, which has the
/// state entry "fault" and may contain NaN or infinity.
enum class CheckpointKind { checkpoint, failed_step, any };
/// The kind of a checkpoint in memory: checkpoint or failed_step.
CheckpointKind kind_of(const Checkpoint& checkpoint);

/// A file in memory.
struct DigestedFile {
  std::string bytes;   ///< its contents
  std::string sha256;  ///< of the bytes, 64 hexadecimal digits
};
/// Returns the sealed HDF5 image (docs/checkpoint-format.md). Identical checkpoints give identical
/// bytes. Throws CheckpointError if the format cannot hold a name, and NumericError if a tensor
/// contains NaN or infinity (allowed in a failed step) or the state contains NaN.
DigestedFile to_hdf5_file(const Checkpoint& checkpoint);
/// The bytes of to_hdf5_file().
std::string to_hdf5(const Checkpoint& checkpoint);
/// An upper bound of the size in bytes of an image of to_hdf5(). `tensors` is the number of
/// tensors, `bytes` their size, and `text` the size of all text in state and config.
std::size_t most_hdf5_bytes(std::size_t bytes, std::size_t tensors, std::size_t text);
/// Reads an image. Throws CheckpointError, with `origin` in the message, if the seal, the structure
/// or a value is not as to_hdf5() writes it, or if the file is not of this `kind`. Throws
/// NewerFormatError (seal.hpp) if the file needs a newer xgrad.
Checkpoint from_hdf5(std::string_view bytes, const std::string& origin,
                     CheckpointKind kind = CheckpointKind::checkpoint);

/// A checkpoint in a file.
struct SavedCheckpoint : Checkpoint {
  std::string file = {};    ///< its path
  std::string sha256 = {};  ///< of all its bytes, 64 hexadecimal digits
};

/// Reads a file as from_hdf5() does. Checks the seal and the digest first, block by block, so a
/// damaged file is refused before it is loaded into memory. Throws the errors of from_hdf5().
/// Throws IoError if the file cannot be read, or if it changes while it is read.
SavedCheckpoint read_checkpoint(const InputFile& file,
                                CheckpointKind kind = CheckpointKind::checkpoint);

/// A failed step, which `xgrad replay` can run again. It holds the checkpoint before the step,
/// without the optimizer's tensors; the micro-batches of the step; and the reason for the failure,
/// as the state entry "fault".
Checkpoint failed_step(Checkpoint before, const std::vector<Batch>& batches,
                       const std::string& fault);

/// Returns the micro-batches of a failed step. Throws CheckpointError if a micro-batch lacks its
/// input, or contains an invalid id, target or mask.
std::vector<Batch> batches_of(const Checkpoint& failed);

/// The file name of a failed step: "fault-0000001200.h5" for step 1200.
std::string failed_step_name(std::uint64_t step);

/// File name of the manifest in the directory of the checkpoints. Each line holds the digest and
/// name of a checkpoint that the run published, or of its gradient certificate. The format is that
/// of `sha256sum`, so `sha256sum --check --ignore-missing` can check the files.
inline constexpr const char* kManifest = "manifest.sha256";

/// File name of a run's gradient certificate, in the run's directory: the results of `xgrad
/// gradcheck RUN`.
inline constexpr const char* kCertificate = "gradcheck.json";
/// The name of the certificate in the manifest.
inline constexpr const char* kListedCertificate = "../gradcheck.json";

/// Returns the manifest line of a file with these bytes.
std::string manifest_line(const std::string& name, std::string_view bytes);
/// Appends the line of a file with this SHA-256 to the manifest and syncs the manifest. Call this
/// before publishing the file. If the process is killed before it publishes the file, the manifest
/// lists a file that does not exist, which is harmless. In the reverse order, the file could lack a
/// line in the manifest, and damage to the file could not be found. Throws IoError.
void add_to_manifest(const Folder& directory, const std::string& name, const std::string& sha256);
/// Parses a manifest line, without its line feed, into name and digest; nothing for other text.
std::optional<std::pair<std::string, std::string>> parse_manifest_line(std::string_view line);
/// Reads the digest of each name; empty without a manifest. Skips malformed lines. Throws IoError.
std::map<std::string, std::string> read_manifest(const Folder& directory);

/// Thrown if the SHA-256 of a file differs from the one in its run's manifest: the run saved
/// another file under this name.
struct UnsavedError : CheckpointError {
  using CheckpointError::CheckpointError;
};
/// The part of UnsavedError's message that follows the path.
inline constexpr const char* kUnsaved = ": is not the file that the run saved";

/// Reads a file as read_checkpoint() does. If its name is a checkpoint_name(), also checks that it
/// holds the step in the name. Throws UnsavedError, which says what to do, if the manifest beside
/// the file lists another SHA-256 for it. Accepts any SHA-256 if the manifest does not list the
/// name, or if the checkpoint has the entry kOwesValidation.
SavedCheckpoint load_checkpoint(const std::string& path,
                                CheckpointKind kind = CheckpointKind::checkpoint);

/// Says why load_checkpoint() refuses a file; the text starts with its path. Empty if the file is
/// good. Throws IoError if the file cannot be read and NewerFormatError if it needs a newer xgrad:
/// neither means damage.
std::string find_damage(const std::string& path);

/// The file name of a checkpoint: "step-0000001200.h5" for step 1200.
std::string checkpoint_name(std::uint64_t step);
/// Returns the step in a checkpoint_name(); nothing for any other name.
std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name);

/// A file with the name of the checkpoint of a step.
struct CheckpointFile {
  std::string path;    ///< path of the file
  std::uint64_t step;  ///< step in its name
};

/// Lists the files with names of checkpoints in a directory, by ascending step. Throws IoError.
std::vector<CheckpointFile> list_checkpoints(const Folder& directory);

/// Files that latest_checkpoint() skips. damaged: damaged files; unsaved: also files for which
/// load_checkpoint() throws UnsavedError.
enum class PassOver { damaged, unsaved };
/// Loads the checkpoint with the highest step that is not skipped. If no file is left, throws
/// CheckpointError, whose message says why a few of the files were skipped. Also throws
/// UnsavedError (unless `which` skips such files), NewerFormatError and IoError.
SavedCheckpoint latest_checkpoint(const Folder& directory, PassOver which = PassOver::damaged);

/// `last` is a checkpoint of the run; its state names the best step so far. Loads the checkpoint of
/// that step. Returns nothing if `last` itself is the best, if no validation has chosen a best step
/// yet, or if train.keep_best is off. Throws CheckpointError, which names the file, if the file is
/// missing or load_checkpoint() refuses it. Throws IoError if it cannot be read.
std::optional<SavedCheckpoint> best_checkpoint(const Folder& directory, const TrainConfig& train,
                                               const Checkpoint& last);

/// Removes old checkpoints of a run and returns their paths. Keeps the newest `keep` checkpoints
/// (at least 2) and the checkpoint of `best_step`. Counts and removes only files that the manifest
/// lists. Requires: the caller holds the lock of the run's directory. Throws IoError.
std::vector<std::string> prune(const Folder& directory, std::size_t keep, std::uint64_t best_step);

/// The file status at a path; not_found if nothing is there. Throws IoError if the system cannot
/// tell, for example because the path is too long.
std::filesystem::file_status status_of(const std::filesystem::path& path);

/// Throws IoError unless the folder holds a config.toml, as every run directory does.
void check_is_run(const Folder& folder);

/// A run on disk, with one of its checkpoints.
struct FoundRun {
  std::string directory;  ///< directory of the run; empty if the checkpoint is not in one
  std::string file;       ///< path of the checkpoint
  Checkpoint checkpoint;  ///< contents of that file
  Config config;          ///< config in the checkpoint, with the overrides
};

/// A run may keep its own data in the folder `data` of its directory. The runs of a sweep share the
/// folder `data` of the sweep's directory, one level up. If `path` ends in data/NAME, returns
/// "data/NAME" or "../data/NAME", whichever exists in `directory`. The rest of `path` does not
/// matter, because the run may have moved. Returns "" for any other path.
std::string own_data(const std::string& directory, const std::string& path);

/// Corrects the paths in `config` after its run was moved to `directory`. If the file of a key of
/// [task] no longer exists but own_data() finds it, sets this key to the file in `directory`.
/// Leaves keys that an override sets.
void follow_own_data(Config& config, const std::string& directory,
                     const std::vector<std::string>& overrides = {});

/// Which checkpoint of a run directory to take. last: the last checkpoint that is not damaged.
/// model: what best_checkpoint() returns for [train] of the run's config.toml; if it returns
/// nothing, the same as `last`. resumed: the checkpoint to resume from, which is the last
/// checkpoint that is neither damaged nor unsaved (PassOver::unsaved).
enum class Take { model, last, resumed };

/// If `path` is a run directory, loads the checkpoint that `take` chooses; else loads the file at
/// `path`. Applies the overrides to its config. Throws ConfigError, IoError and the errors of
/// latest_checkpoint(), best_checkpoint() and load_checkpoint().
FoundRun find_run(const std::string& path, const std::vector<std::string>& overrides = {},
                  Take take = Take::model);

}  // namespace xgrad
