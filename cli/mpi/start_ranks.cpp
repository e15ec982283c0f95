// start_ranks() with MPI: the only file that calls it.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/start_ranks.hpp>

namespace xgrad {

namespace {

using namespace std::chrono_literals;

// Ranges of elements of `width` bytes, which MPI counts in int.
struct Layout {
  Layout(const std::vector<Range>& ranges, std::size_t width) {
    const auto add = [](std::vector<int>& counts, std::size_t n) {
      check<Error>(n <= INT_MAX, "MPI: cannot send ", n, " elements at once, at most ", INT_MAX);
      counts.push_back(int(n));
    };
    for (const Range& range : ranges) {
      add(sizes, range.size());
      add(begins, range.size() == 0 ? 0 : range.begin);
    }
    MPI_Type_contiguous(int(width), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  ~Layout() { MPI_Type_free(&type); }
  Layout(const Layout&) = delete;

  std::vector<int> sizes, begins;
  MPI_Datatype type;
};

class MpiRanks final : public StartedRanks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &signs_of_life_);
    set_threads(cores_of_this_rank());
  }

  // Ranks that have nothing left to send wait here for the other ranks.
  ~MpiRanks() override {
    any(*this, false);
    std::unique_lock lock(mutex_);
    done_ = true;
    lock.unlock();
    changed_.notify_all();
    if (watcher_.joinable()) watcher_.join();
    MPI_Comm_free(&signs_of_life_);
    MPI_Finalize();
  }

  std::size_t rank() const override { return std::size_t(rank_); }
  std::size_t size() const override { return std::size_t(size_); }
  std::unique_ptr<Transfer> begin_exchange(const void* from, const std::vector<Range>& to_rank,
                                           void* into, const std::vector<Range>& from_rank,
                                           std::size_t width) override {
    auto exchange = std::make_unique<Exchange>(*this, to_rank, from_rank, width);
    const Layout &out = exchange->out, &in = exchange->in;
    const std::lock_guard lock(mutex_);
    MPI_Ialltoallv(from, out.sizes.data(), out.begins.data(), out.type, into, in.sizes.data(),
                   in.begins.data(), in.type, MPI_COMM_WORLD, &exchange->request);
    return exchange;
  }
  void progress() override {  // MPI moves all transfers on during any call
    int found = 0;
    const std::lock_guard lock(mutex_);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }

  void gather(void* all, const std::vector<Range>& of_rank, std::size_t width) override {
    const Layout layout(of_rank, width);
    MPI_Request request;
    std::unique_lock lock(mutex_);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, layout.sizes.data(),
                    layout.begins.data(), layout.type, MPI_COMM_WORLD, &request);
    lock.unlock();
    finish(request);
  }
  void watch(double timeout) override {
    if (size_ > 1 && !watcher_.joinable()) watcher_ = std::thread(&MpiRanks::listen, this, timeout);
  }
  void end_all(int code) override { MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  // MPI reads the counts until the exchange ends.
  struct Exchange final : Transfer {
    Exchange(MpiRanks& ranks, const std::vector<Range>& to_rank,
             const std::vector<Range>& from_rank, std::size_t width)
        : ranks(ranks), out(to_rank, width), in(from_rank, width) {}
    void wait() override { ranks.finish(request); }

    MpiRanks& ranks;
    Layout out, in;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // A mutex separates the calls of the watcher from the calls of the other thread, so MPI need not
  // be thread-safe. Sleeps during a long wait, because other ranks may need the core.
  void finish(MPI_Request& request) {
    int complete = 0;
    for (std::size_t tries = 0; complete == 0; ++tries) {
      if (tries > 20000) std::this_thread::sleep_for(50us);
      if (tries > 100) ::sched_yield();
      const std::lock_guard lock(mutex_);
      MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    }
  }

  // Each rank sends a byte to the next one again and again. Time is counted in tries of this rank,
  // because a machine that was suspended makes none and must not blame the others.
  void listen(double timeout) {
    constexpr int kTries = 20;
    const int previous = (rank_ + size_ - 1) % size_, next = (rank_ + 1) % size_;
    char sign = 0, sent = 0;
    MPI_Request incoming, outgoing = MPI_REQUEST_NULL;
    std::unique_lock lock(mutex_);
    MPI_Irecv(&sign, 1, MPI_CHAR, previous, 0, signs_of_life_, &incoming);
    for (int silent = 0; silent <= kTries; ++silent) {
      int complete = 0;
      MPI_Test(&outgoing, &complete, MPI_STATUS_IGNORE);
      if (complete != 0) MPI_Isend(&sent, 1, MPI_CHAR, next, 0, signs_of_life_, &outgoing);
      while (MPI_Test(&incoming, &complete, MPI_STATUS_IGNORE), complete != 0) {
        MPI_Irecv(&sign, 1, MPI_CHAR, previous, 0, signs_of_life_, &incoming);
        silent = 0;
      }
      if (changed_.wait_for(lock, timeout / kTries * 1s, [this] { return done_; })) {
        MPI_Cancel(&incoming);
        MPI_Request_free(&incoming);
        if (outgoing != MPI_REQUEST_NULL) MPI_Request_free(&outgoing);
        return;
      }
    }
    std::fprintf(stderr, "xgrad: rank %d of %d has not answered for %g seconds; all ranks end\n",
                 previous, size_, timeout);
    end_all(6);
  }

  // The number of cores for this process, divided by the number of ranks that share these cores.
  int cores_of_this_rank() {
    struct Place {
      std::array<char, 256> machine;
      cpu_set_t cores;
    } own{};
    ::gethostname(own.machine.data(), own.machine.size() - 1);
    ::sched_getaffinity(0, sizeof(own.cores), &own.cores);
    int sharing = 0;
    for (const Place& other : gather_all(*this, own)) {
      cpu_set_t both;
      CPU_AND(&both, &own.cores, &other.cores);
      sharing += own.machine == other.machine && CPU_COUNT(&both) > 0;
    }
    return std::max(1, threads() / std::max(1, sharing));
  }

  int rank_ = 0, size_ = 1;
  MPI_Comm signs_of_life_;
  std::mutex mutex_;  // held during every call of MPI
  std::condition_variable changed_;
  bool done_ = false;
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<StartedRanks> start_ranks() {
  constexpr std::array kMarks = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"};
  // Unless mpirun, mpiexec or srun started it, this process needs no MPI. To start MPI takes longer
  // than many commands.
  if (std::ranges::none_of(kMarks, ::getenv)) return nullptr;
  int provided = MPI_THREAD_SINGLE;
  const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  check<Error>(error == MPI_SUCCESS, "MPI cannot be started");
  check<Error>(provided >= MPI_THREAD_SERIALIZED,
               "this MPI cannot be called by two threads in turn");
  // Programs that this one starts, as the runs of a sweep, are not ranks.
  for (const char* name : kMarks) ::unsetenv(name);
  return std::make_unique<MpiRanks>();
}

bool has_mpi() {
  return true;
}

}  // namespace xgrad
