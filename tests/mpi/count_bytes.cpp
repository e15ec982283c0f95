// Counts the bytes that a rank sends and receives, through MPI's profiling interface: loaded
// before the program, it writes "SENT RECEIVED" to $COUNT_BYTES.RANK at the end. Covers the
// operations that cli/mpi/start_ranks.cpp calls; any other that moves data would have to be added.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

long long sent = 0, received = 0;

long long bytes_of(const int* counts, MPI_Datatype type, MPI_Comm comm, bool all) {
  int size = 0, rank = 0, width = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &width);
  long long count = 0;
  for (int r = 0; r < size; ++r) count += r != rank || all ? counts[r] : 0;
  return count * width;
}

}  // namespace

extern "C" {

int MPI_Ialltoallv(const void* from, const int* to_counts, const int* to_begins, MPI_Datatype to,
                   void* into, const int* from_counts, const int* from_begins, MPI_Datatype of,
                   MPI_Comm comm, MPI_Request* request) {
  sent += bytes_of(to_counts, to, comm, true);
  received += bytes_of(from_counts, of, comm, true);
  return PMPI_Ialltoallv(from, to_counts, to_begins, to, into, from_counts, from_begins, of, comm,
                         request);
}

// Every rank gets this rank's part.
int MPI_Iallgatherv(const void* from, int count, MPI_Datatype to, void* into, const int* counts,
                    const int* begins, MPI_Datatype of, MPI_Comm comm, MPI_Request* request) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const long long others = bytes_of(counts, of, comm, false);
  sent += (bytes_of(counts, of, comm, true) - others) * (size - 1);
  received += others;
  return PMPI_Iallgatherv(from, count, to, into, counts, begins, of, comm, request);
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
  if (const char* path = std::getenv("COUNT_BYTES")) {
    const std::string name = std::string(path) + "." + std::to_string(rank);
    if (std::FILE* file = std::fopen(name.c_str(), "w")) {
      std::fprintf(file, "%lld %lld\n", sent, received);
      std::fclose(file);
    }
  }
  return PMPI_Finalize();
}

}  // extern "C"
