// The processes that were started together with this one.
#pragma once

#include <memory>

#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Processes that can be ended together.
class StartedRanks : public Ranks {
 public:
  /// Ends all processes, with this exit code.
  virtual void end_all(int code) = 0;
};

/// Joins the processes that mpirun or srun started together with this one. Returns null in a
/// program without MPI, and in a process that was started by itself. Throws Error.
std::unique_ptr<StartedRanks> start_ranks();

/// Whether this program can be one of several processes.
bool has_mpi();

}  // namespace xgrad
