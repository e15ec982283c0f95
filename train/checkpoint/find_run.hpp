// Finds a run by its directory or by one of its checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The file status at a path; not_found if nothing is there. Throws IoError if the system cannot
/// tell, for example because the path is too long.
std::filesystem::file_status status_of(const std::filesystem::path& path);

/// Throws IoError unless the folder holds a config.toml, as every run directory does.
void check_is_run(const Folder& folder);

/// A run on disk, with one of its checkpoints.
struct FoundRun {
  std::string directory;  ///< directory of the run; empty if the checkpoint is not in one
  std::string file;       ///< path of the checkpoint: the named one, or the newest that verifies
  Checkpoint checkpoint;  ///< contents of that file
  Config config;          ///< config in the checkpoint, with the overrides
};

/// Loads a run directory's newest checkpoint that is not passed over, or the checkpoint at `path`,
/// and applies the overrides to its config. Throws CheckpointError also if the run's manifest lists
/// another digest for the file; IoError, ConfigError.
FoundRun find_run(const std::string& path, const std::vector<std::string>& overrides = {},
                  PassOver which = PassOver::damaged);

}  // namespace xgrad
