#include <xgrad/autograd/parallel.hpp>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef XGRAD_TELLS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace xgrad {

namespace {

// xgrad has an arena of its own, so that a host program's TBB settings stay unchanged.
struct Pool {
  std::mutex mutex;
  int count = std::max(1, tbb::this_task_arena::max_concurrency());
  int proven = 1;  // the most threads that this process has started
  std::string shortage;
  std::shared_ptr<tbb::task_arena> arena;
  std::unique_ptr<tbb::global_control> more;  // raises TBB's limit for more threads than cores
};

Pool& pool() {
  static Pool instance;
  return instance;
}

// Starts up to `wanted` threads at once and ends them. Returns how many started, and why no more.
std::pair<int, std::string> start_threads(int wanted) {
  std::vector<std::thread> started;
  std::string reason;
  std::latch end(1);
  try {
    started.reserve(std::size_t(wanted));
    while (int(started.size()) < wanted) started.emplace_back([&end] { end.wait(); });
  } catch (const std::system_error& error) {
    reason = error.code().message();
  } catch (const std::bad_alloc&) {
    reason = "out of memory";
  }
  end.count_down();
  for (std::thread& thread : started) thread.join();
  return {int(started.size()), reason};
}

// Lowers p.count to the number of threads that can start, because TBB fails if one of its threads
// cannot start. The caller runs loops too, so this leaves one thread for preparing batches.
void lower_to_what_starts(Pool& p) {
  if (p.count <= p.proven) return;
  const auto [started, reason] = start_threads(p.count);
  const int asked = std::exchange(p.count, std::max(p.proven, started));
  p.proven = p.count;
  if (p.count == asked) return;
  p.shortage = std::to_string(p.count) + (p.count == 1 ? " thread" : " threads") + " in place of " +
               std::to_string(asked) + " (" + reason + ")";
}

// Tells ThreadSanitizer that a loop begins before its blocks and ends after them. It cannot see
// this by itself, since TBB is not compiled with it.
#ifdef XGRAD_TELLS_TSAN
class Order {
 public:
  Order() { __tsan_release(&begun_); }
  ~Order() { __tsan_acquire(&done_); }
  void block_begins() { __tsan_acquire(&begun_); }
  void block_ends() { __tsan_release(&done_); }

 private:
  char begun_ = 0, done_ = 0;
};
#else
struct Order {
  void block_begins() {}
  void block_ends() {}
};
#endif

thread_local bool is_serial = false;

std::shared_ptr<tbb::task_arena> current_arena() {
  if (is_serial) return nullptr;
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  lower_to_what_starts(p);
  if (p.count == 1) return nullptr;
  if (!p.arena) p.arena = std::make_shared<tbb::task_arena>(p.count);
  return p.arena;
}

}  // namespace

int threads() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  lower_to_what_starts(p);
  return p.count;
}

void set_threads(int count) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.count = std::max(1, count);
  p.shortage.clear();
  lower_to_what_starts(p);
  p.arena.reset();
  p.more.reset();
  constexpr auto limit = tbb::global_control::max_allowed_parallelism;
  if (std::size_t(p.count) > tbb::global_control::active_value(limit)) {
    p.more = std::make_unique<tbb::global_control>(limit, std::size_t(p.count));
  }
}

std::string thread_shortage() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.shortage;
}

SerialScope::SerialScope() : Scoped(is_serial, true) {}

namespace detail {

void forget_threads() {
  Pool& p = pool();
  p.count = 1;
  // Leaks both: destroying them would wait for threads that this process does not have.
  new std::shared_ptr<tbb::task_arena>(std::move(p.arena));
  static_cast<void>(p.more.release());
}

void parallel_blocks(std::size_t n, std::size_t grain,
                     const std::function<void(std::size_t begin, std::size_t end)>& body) {
  Order order;
  const auto run_block = [&](std::size_t block) {
    order.block_begins();
    body(block * grain, std::min(n, (block + 1) * grain));
    order.block_ends();
  };
  const std::size_t blocks = (n + grain - 1) / grain;
  const auto arena = current_arena();
  if (!arena) {
    for (std::size_t block = 0; block < blocks; ++block) run_block(block);
    return;
  }
  arena->execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, blocks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t block = range.begin(); block < range.end(); ++block) run_block(block);
        },
        tbb::simple_partitioner());
  });
}

}  // namespace detail

}  // namespace xgrad
