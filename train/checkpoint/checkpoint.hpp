// Checkpoint: an ordered dictionary of tensors and the run's state. Every format is two functions
// on it.
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

/// The state of a run, or of a model.
struct Checkpoint {
  std::uint64_t step = 0;  ///< steps taken
  /// "encoder.layers.0.norm1.weight", in the model's order
  std::vector<NamedTensor> parameters = {};
  std::vector<NamedTensor> optimizer = {};  ///< "exp_avg.encoder.layers.0.norm1.weight", ...
  /// Loader position, best metric, ...; may be infinite, not NaN.
  std::map<std::string, StateValue> state = {};
  std::string config = {};  ///< resolved TOML, without execution keys
};

/// The entry of the state that holds what the task learned from its data; missing where that is
/// nothing.
inline constexpr const char* kLearned = "task";
/// The entry of the state of a run that was stopped inside the validation of its last step, which
/// is then still to be done; missing in any other.
inline constexpr const char* kOwesValidation = "owes_validation";

/// An entry of the state. Throws CheckpointError when it is missing or of another type.
template <class Value>
const Value& state_value(const Checkpoint& checkpoint, const std::string& name);

/// What a file holds: what a run goes on from, or a step that failed (failed_step.hpp), which may
/// hold numbers that are not finite and has the state "fault".
enum class CheckpointKind { checkpoint, failed_step, any };
/// Which of them it is.
CheckpointKind kind_of(const Checkpoint& checkpoint);

/// The sealed HDF5 image: identical checkpoints give identical bytes. docs/checkpoint-format.md
/// describes it.
///
/// Throws CheckpointError on a name that the format cannot hold, NumericError on a tensor that is
/// not finite (but for a failed step) and on a NaN in the state: what would not load is not
/// written.
std::string to_hdf5(const Checkpoint& checkpoint);
/// An upper bound of the size of that image: of tensors of so many bytes in all, of how many, and
/// with so much text in its state and config.
std::size_t most_hdf5_bytes(std::size_t bytes, std::size_t tensors, std::size_t text);
/// Throws CheckpointError, with `origin` in the message, unless seal, structure and values are what
/// to_hdf5 writes, and of this kind.
Checkpoint from_hdf5(std::string_view bytes, const std::string& origin,
                     CheckpointKind kind = CheckpointKind::checkpoint);

/// Reads a whole file, once its seal holds: of a file of another kind no more is read. Throws
/// IoError; CheckpointError, with the file's path.
std::string read_checkpoint_file(const InputFile& file);
/// Reads and checks such a file. Throws IoError or CheckpointError.
Checkpoint load_checkpoint(const std::string& path,
                           CheckpointKind kind = CheckpointKind::checkpoint);

/// Reads a checkpoint of a run: as load_checkpoint(), and its SHA-256 must be the one that the
/// manifest beside it lists. A name that is not listed is accepted, and so is any file where there
/// is no manifest. Throws IoError or CheckpointError, which says what to do.
Checkpoint load_listed(const std::string& path);

/// "step-0000001200.h5"
std::string checkpoint_name(std::uint64_t step);
/// The step of such a name, and nothing for any other name.
std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name);

/// A file that is named like a checkpoint.
struct CheckpointFile {
  std::string path;    ///< where it lies
  std::uint64_t step;  ///< by its name
};

/// The files of a directory that are named like checkpoints, by ascending step; none are opened.
/// Throws IoError.
std::vector<CheckpointFile> list_checkpoints(const Folder& directory);

/// What is wrong with a file, beginning with its path; empty when it is one that loads: a
/// checkpoint, under a name that is not that of another step, or else a step that failed; and whose
/// digest is the one that the manifest beside it lists, if it does. Throws IoError where it cannot
/// be read, which says nothing about it.
std::string damage(const std::string& path);

/// Whether a file can be read and loads.
bool verify(const std::string& path);

/// The path of the highest step that loads; the manifest is not looked at. What is wrong with those
/// skipped goes to `damaged`, when given. Throws CheckpointError, listing them, when none loads;
/// IoError.
std::string latest_checkpoint(const Folder& directory, std::vector<std::string>* damaged = nullptr);

/// Removes older checkpoints of a run's own directory, and returns their paths: of the files that
/// its manifest vouches for (without one, that verify) all but the newest `keep`, at least 2, and
/// that of `best_step`. Call it after a new one is published, under the lock. Throws IoError.
std::vector<std::string> prune(const Folder& directory, std::size_t keep, std::uint64_t best_step);

}  // namespace xgrad
