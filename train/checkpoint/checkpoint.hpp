// Checkpoint: named tensors in a fixed order, and the state of a run. Each file format is a pair of
// functions that write and read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

class InputFile;

/// The saved state of a run, or only a model's weights.
struct Checkpoint {
  std::uint64_t step = 0;  ///< number of steps taken
  /// "encoder.layers.0.norm1.weight", in the model's order
  std::vector<NamedTensor> parameters = {};
  std::vector<NamedTensor> optimizer = {};  ///< "exp_avg.encoder.layers.0.norm1.weight", ...
  /// Loader position, best metric and others. Values may be infinite but not NaN.
  std::map<std::string, StateValue> state = {};
  std::string config = {};  ///< resolved TOML, without execution keys
};

/// Name of the state entry that holds what the task learned from its data, such as a vocabulary. It
/// is missing if the task learned nothing.
inline constexpr const char* kLearned = "task";
/// Name of the state entry of a run that was stopped during the validation of its last step. The
/// resumed run validates that step first. All other runs lack the entry.
inline constexpr const char* kOwesValidation = "owes_validation";

/// Returns an entry of the state. Throws CheckpointError if it is missing or of another type.
template <class Value>
const Value& state_value(const Checkpoint& checkpoint, const std::string& name);

/// Contents of a file: a checkpoint that a run can resume from, or a failed step
/// (failed_step.hpp). A failed step has the state entry "fault", and its tensors may contain NaN or
/// infinity.
enum class CheckpointKind { checkpoint, failed_step, any };
/// The kind of a checkpoint in memory: checkpoint or failed_step.
CheckpointKind kind_of(const Checkpoint& checkpoint);

/// Returns the sealed HDF5 image. Identical checkpoints give identical bytes.
/// docs/checkpoint-format.md describes the format.
///
/// Refuses to write what could not be loaded: throws CheckpointError if the format cannot hold a
/// name, and NumericError if a tensor contains NaN or infinity (failed steps may) or the state
/// contains NaN.
std::string to_hdf5(const Checkpoint& checkpoint);
/// An upper bound of the size of that image in bytes, for `tensors` tensors with `bytes` bytes in
/// total and `text` bytes of text in state and config.
std::size_t most_hdf5_bytes(std::size_t bytes, std::size_t tensors, std::size_t text);
/// Reads an image. Throws CheckpointError, with `origin` in the message, unless seal, structure and
/// values are as to_hdf5() writes them and the file is of this kind.
Checkpoint from_hdf5(std::string_view bytes, const std::string& origin,
                     CheckpointKind kind = CheckpointKind::checkpoint);

/// Reads a whole file into memory after checking its seal and, in blocks, its digest. If the seal
/// is not valid, reads only both ends. Throws IoError, or CheckpointError with the file's path.
std::string read_checkpoint_file(const InputFile& file);
/// Reads a file and checks it as from_hdf5() does. Throws IoError or CheckpointError.
Checkpoint load_checkpoint(const std::string& path,
                           CheckpointKind kind = CheckpointKind::checkpoint);

/// Checks a checkpoint's file against the manifest beside it. Throws CheckpointError, which says
/// what to do, if the manifest lists another SHA-256 for it. Accepts names that the manifest does
/// not list, and any file if there is no manifest. Throws IoError if the manifest cannot be read.
void check_listed(const std::string& path, std::string_view bytes, const Checkpoint& checkpoint);
/// Reads a checkpoint of a run: load_checkpoint(), then check_listed().
Checkpoint load_listed(const std::string& path);

/// "step-0000001200.h5"
std::string checkpoint_name(std::uint64_t step);
/// Returns the step in a name of that form; nothing for any other name.
std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name);

/// A file with the name of a checkpoint.
struct CheckpointFile {
  std::string path;    ///< path of the file
  std::uint64_t step;  ///< step in its name
};

/// Lists the files of a directory that have names of checkpoints, by ascending step, without
/// opening them. Throws IoError.
std::vector<CheckpointFile> list_checkpoints(const Folder& directory);

/// Says what is wrong with a file, starting with its path; empty if nothing is. A good file is a
/// checkpoint whose name does not claim another step, or a failed step under any other name. If the
/// manifest beside it lists the file, the digests must be equal. Throws IoError if the file cannot
/// be read and NewerFormatError if it needs a newer xgrad: neither proves damage.
std::string damage(const std::string& path);

/// Whether the file can be read and loaded.
bool verify(const std::string& path);

/// Files that latest_checkpoint() passes over: those that do not load, or also those that the
/// manifest lists with another digest.
enum class PassOver { damaged, unsaved };

/// Returns the path of the checkpoint with the highest step that is not passed over. Throws
/// CheckpointError, which says what is wrong with a few, if there is none; IoError.
std::string latest_checkpoint(const Folder& directory, PassOver which = PassOver::damaged);

/// Removes old checkpoints from a run's own directory and returns their paths. Keeps the newest
/// `keep` (at least 2) and that of `best_step`. Counts and removes only files that the manifest
/// lists or, without a manifest, files that verify. Call it under the lock after publishing a new
/// checkpoint. Throws IoError.
std::vector<std::string> prune(const Folder& directory, std::size_t keep, std::uint64_t best_step);

}  // namespace xgrad
