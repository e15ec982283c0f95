// A run, named by its directory or by one of its checkpoints.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// What a run left.
struct RunSource {
  std::string directory;  ///< of the run; empty for a checkpoint that lies elsewhere
  std::string file;       ///< the checkpoint: the one named, or the newest that verifies
  Checkpoint checkpoint;  ///< as it was read
  Config config;          ///< that of the checkpoint
};

/// The config is that of the checkpoint with the overrides. A checkpoint that is not the one that
/// the run's manifest lists is refused. Throws IoError, CheckpointError, ConfigError.
RunSource find_run(const std::string& path, const std::vector<std::string>& overrides = {});

}  // namespace xgrad
