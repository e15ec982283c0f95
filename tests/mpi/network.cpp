// A network between the program and MPI, through MPI's profiling interface: loaded before the
// program, it counts what a rank sends and receives, makes it slow, or kills the rank. Covers the
// operations that cli/mpi/start_ranks.cpp calls; any other that moves data would have to be added.
//
//   NETWORK_COUNTS=FILE        writes "SENT RECEIVED OPERATIONS" to FILE.RANK at the end, in bytes
//   NETWORK_SPEED="S B"        each operation takes S seconds and the time of its bytes at B bytes
//                              per second, sent or received, one operation after the other
//   NETWORK_KILL="RANK N"      kills the rank by SIGKILL at the start of its operation N, from 0
//   NETWORK_KILL="RANK N in"   kills it after it has started the operation
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

long long sent = 0, received = 0, operations = 0;
Clock::time_point line_is_free;
std::map<MPI_Request, Clock::time_point> arrivals;

long long bytes_of(const int* counts, MPI_Datatype type, MPI_Comm comm, bool all) {
  int size = 0, rank = 0, width = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &width);
  long long count = 0;
  for (int r = 0; r < size; ++r) count += r != rank || all ? counts[r] : 0;
  return count * width;
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void kill_if_told(const char* when) {
  static const std::string told = setting("NETWORK_KILL");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (told == std::to_string(rank) + " " + std::to_string(operations) + when) std::raise(SIGKILL);
}

// Counts an operation that was started, and says when it may arrive.
void started(long long out, long long in, MPI_Request request) {
  static const std::string speed = setting("NETWORK_SPEED");
  kill_if_told(" in");
  ++operations;
  sent += out;
  received += in;
  double latency = 0, bandwidth = 0;
  if (std::sscanf(speed.c_str(), "%lf %lf", &latency, &bandwidth) != 2) return;
  const double seconds = latency + double(std::max(out, in)) / bandwidth;
  line_is_free = std::max(line_is_free, Clock::now()) + std::chrono::duration_cast<Clock::duration>(
                                                            std::chrono::duration<double>(seconds));
  arrivals[request] = line_is_free;
}

}  // namespace

extern "C" {

int MPI_Ialltoallv(const void* from, const int* to_counts, const int* to_begins, MPI_Datatype to,
                   void* into, const int* from_counts, const int* from_begins, MPI_Datatype of,
                   MPI_Comm comm, MPI_Request* request) {
  kill_if_told("");
  const int result = PMPI_Ialltoallv(from, to_counts, to_begins, to, into, from_counts, from_begins,
                                     of, comm, request);
  started(bytes_of(to_counts, to, comm, true), bytes_of(from_counts, of, comm, true), *request);
  return result;
}

// Every rank gets this rank's part.
int MPI_Iallgatherv(const void* from, int count, MPI_Datatype to, void* into, const int* counts,
                    const int* begins, MPI_Datatype of, MPI_Comm comm, MPI_Request* request) {
  kill_if_told("");
  const int result = PMPI_Iallgatherv(from, count, to, into, counts, begins, of, comm, request);
  int size = 0;
  MPI_Comm_size(comm, &size);
  const long long others = bytes_of(counts, of, comm, false);
  started((bytes_of(counts, of, comm, true) - others) * (size - 1), others, *request);
  return result;
}

int MPI_Test(MPI_Request* request, int* complete, MPI_Status* status) {
  const auto arrival = arrivals.find(*request);
  if (arrival == arrivals.end()) return PMPI_Test(request, complete, status);
  if (Clock::now() < arrival->second) {
    int found = 0;
    *complete = 0;
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  const int result = PMPI_Test(request, complete, status);
  if (*complete != 0) arrivals.erase(arrival);
  return result;
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int width = 0;
  MPI_Type_size(type, &width);
  sent += count * width;
  return PMPI_Isend(from, count, type, rank, tag, comm, request);
}

int MPI_Finalize() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (const char* path = std::getenv("NETWORK_COUNTS")) {
    const std::string name = std::string(path) + "." + std::to_string(rank);
    if (std::FILE* file = std::fopen(name.c_str(), "w")) {
      std::fprintf(file, "%lld %lld %lld\n", sent, received, operations);
      std::fclose(file);
    }
  }
  return PMPI_Finalize();
}

}  // extern "C"
