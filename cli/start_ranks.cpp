// start_ranks() of a program without MPI. mpi/start_ranks.cpp takes its place in one with MPI.
#include <xgrad/cli/start_ranks.hpp>

namespace xgrad {

std::unique_ptr<StartedRanks> start_ranks() {
  return nullptr;
}

bool has_mpi() {
  return false;
}

}  // namespace xgrad
