#include <xgrad/autograd/parallel.hpp>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <utility>

#ifdef XGRAD_TELLS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace xgrad {

namespace {

// The arena belongs to xgrad, so a host program's own TBB settings stay as they are.
struct Pool {
  std::mutex mutex;
  int count = std::max(1, tbb::this_task_arena::max_concurrency());
  std::shared_ptr<tbb::task_arena> arena;
  std::unique_ptr<tbb::global_control> more;  // only where more threads than cores are asked for
};

Pool& pool() {
  static Pool instance;
  return instance;
}

// What a loop promises: it begins before its blocks and ends after them, and nothing between
// blocks. ThreadSanitizer is told so, since it cannot see it: TBB is not compiled for it.
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
  if (p.count == 1) return nullptr;
  if (!p.arena) p.arena = std::make_shared<tbb::task_arena>(p.count);
  return p.arena;
}

}  // namespace

int threads() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.count;
}

void set_threads(int count) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.count = std::max(1, count);
  p.arena.reset();
  p.more.reset();
  constexpr auto limit = tbb::global_control::max_allowed_parallelism;
  if (std::size_t(p.count) > tbb::global_control::active_value(limit)) {
    p.more = std::make_unique<tbb::global_control>(limit, std::size_t(p.count));
  }
}

SerialScope::SerialScope() : before_(std::exchange(is_serial, true)) {}
SerialScope::~SerialScope() {
  is_serial = before_;
}

namespace detail {

void forget_threads() {
  Pool& p = pool();
  p.count = 1;
  // To take down what belonged to the other threads would mean to wait for them.
  new std::shared_ptr<tbb::task_arena>(std::move(p.arena));
  static_cast<void>(p.more.release());
}

void parallel_blocks(std::size_t n, std::size_t grain, LoopBody body, const void* context) {
  Order order;
  const auto run_block = [&](std::size_t block) {
    order.block_begins();
    body(context, block * grain, std::min(n, (block + 1) * grain));
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
