// The processes that were started together with this one.
#pragma once

#include <memory>

#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Processes that can be ended together.
class StartedRanks : public Ranks {
 public:
  virtual void end_all(int code) = 0;  ///< ends all processes, with this exit code
};

/// Connects this process to the processes that mpirun or srun started with it. Returns null in a
/// program without MPI and in a process that no launcher started. Throws Error if MPI fails.
std::unique_ptr<StartedRanks> start_ranks();

bool has_mpi();  ///< whether this program can be one of several processes

}  // namespace xgrad
