// Resumes a run that stopped.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/run/session.hpp>

namespace xgrad {

/// Continues a run from its newest checkpoint, bit for bit as if it had never stopped. `path` is
/// its directory or that checkpoint. From an older checkpoint, starts a new run in another
/// directory: run.dir of the overrides, if given. Without any checkpoint, starts the run again.
///
/// Throws ConfigError when the overrides change a key that `allow_change` does not name, or when
/// the run's own directory would change; CheckpointError when the checkpoints are damaged or lost;
/// IoError when there is no run; LockError when another process is writing to it.
Outcome resume_run(const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& allow_change, SessionOptions options);

}  // namespace xgrad
