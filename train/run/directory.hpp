// RunDirectory: the folder that holds all files of a run, locked while a process writes to it.
#pragma once

#include <cstdint>
#include <string>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// The name of the file that make_digest_log() writes.
inline constexpr const char* kDigests = "digests.jsonl";

/// Creates a directory and its parents, and syncs them to survive a power failure. Throws IoError.
void make_directory(const std::string& path);

/// The directory of a run, locked against other processes.
class RunDirectory {
 public:
  /// Creates the directory of a new run: `chosen` if not empty, else runs/STEM or the next free
  /// runs/STEM-2, -3, ... Throws IoError if `chosen` holds a run, or a nonempty file with a name
  /// that a run uses; LockError if another process uses it. Leaves a refused `chosen` unchanged.
  static RunDirectory create(const std::string& chosen, const std::string& stem);

  /// Opens a run. Throws IoError if the directory is not a run, or if one of its files is not a
  /// regular file, but a link or a folder; LockError if another process uses the directory.
  static RunDirectory open(const std::string& path);

  /// The path by which the directory was opened.
  const std::string& path() const { return folder_.path(); }
  /// The directory, for reading and writing the files of the run.
  const Folder& folder() const { return folder_; }
  /// The subdirectory `checkpoints`.
  const Folder& checkpoints() const { return checkpoints_; }

  /// Replaces the run's config and records its digest. Throws IoError.
  void replace_config(const std::string& text) const;
  /// Writes the gradient certificate, and lists it in the manifest. Throws IoError.
  void replace_certificate(const std::string& text) const;
  /// Removes all checkpoints from the manifest, for a run that starts again. Throws IoError.
  void forget_checkpoints() const;
  /// Whether replace_config() wrote the run's current config; false if somebody edited the file.
  bool config_was_replaced() const;

  /// Cuts a log back for a run that resumes from `step`: keeps the rows up to this step, byte for
  /// byte, and removes the rows of later steps. If `validated` is false, also removes the row of
  /// the validation at `step`, because the run will repeat it. Moves the bad lines before the cut
  /// (RowsUntil) to FILE.bad. Returns a message that lists them; empty if none. Throws IoError.
  std::string cut_back(const std::string& file, std::uint64_t step, bool validated = true) const;

 private:
  RunDirectory(Folder folder, detail::Descriptor lock);

  Folder folder_;
  detail::Descriptor lock_;
  Folder checkpoints_;
};

}  // namespace xgrad
