// A run, named by its directory or by one of its checkpoints.
#pragma once

#include <string>

#include <xgrad/train/checkpoint.hpp>
#include <xgrad/train/config.hpp>

namespace xgrad {

/// What a run left.
struct RunSource {
  std::string directory;  ///< of the run; empty for a checkpoint that lies elsewhere
  std::string file;       ///< the checkpoint: the one named, or the newest that verifies
  Checkpoint checkpoint;  ///< as it was read
  Config config;          ///< that of the checkpoint
};

/// Throws IoError, CheckpointError.
RunSource find_run(const std::string& path);

}  // namespace xgrad
