// Allocation of tensors, and the counters of counters.hpp.
#include <xgrad/autograd/memory/memory.hpp>

#include <tbb/scalable_allocator.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/autograd/memory/large_blocks.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>

namespace xgrad {

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> flops_count{0};
std::atomic<std::int64_t> live{0}, peak{0};

// Counts an allocation, or a deallocation if `bytes` is negative.
void count_memory(std::int64_t bytes) noexcept {
  if (!counting.load(std::memory_order_relaxed)) return;
  const std::int64_t now = live.fetch_add(bytes) + bytes;
  std::int64_t most = peak.load();
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(XGRAD_SYSTEM_ALLOCATOR)

// Sanitizers and valgrind track only the system's blocks. Inside a pool they would miss overruns,
// and memory that passes from one thread to another.
void* try_allocate(std::size_t bytes) {
  void* pointer = nullptr;
  return ::posix_memalign(&pointer, kAlignment, bytes) == 0 ? pointer : nullptr;
}

void release(void* pointer, std::size_t) noexcept {
  std::free(pointer);
}

#else

using detail::LargeBlocks;

// Never destroyed, since tensors may outlive static objects.
LargeBlocks& large_blocks() {
  static LargeBlocks& blocks = *new LargeBlocks;
  return blocks;
}

void* try_allocate(std::size_t bytes) {
  if (bytes >= LargeBlocks::kSmallest) try {
      return large_blocks().allocate(bytes);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  return scalable_aligned_malloc(bytes == 0 ? kAlignment : bytes, kAlignment);
}

void release(void* pointer, std::size_t bytes) noexcept {
  if (bytes >= LargeBlocks::kSmallest) return large_blocks().deallocate(pointer);
  scalable_aligned_free(pointer);
}

#endif

}  // namespace

void* detail::allocate(std::size_t bytes) {
  void* pointer = try_allocate(bytes);
  if (pointer == nullptr) throw OutOfMemory(bytes, "a tensor");
  count_memory(std::int64_t(bytes));
  return pointer;
}

void detail::deallocate(void* pointer, std::size_t bytes) noexcept {
  count_memory(-std::int64_t(bytes));
  release(pointer, bytes);
}

Counters::Counters() {
  check<Error>(!counting.exchange(true),
               "Counters: only one may exist at a time, and there is one already");
  flops_count = 0;
  live = peak = 0;
}

Counters::~Counters() {
  counting = false;
}

std::uint64_t Counters::flops() const {
  return flops_count;
}

std::int64_t Counters::live_bytes() const {
  return live;
}

std::int64_t Counters::peak_bytes() const {
  return peak;
}

void detail::count_product(std::size_t m, std::size_t n, std::size_t k) {
  if (!counting.load(std::memory_order_relaxed)) return;
  flops_count.fetch_add(std::uint64_t(2) * m * n * k, std::memory_order_relaxed);
}

}  // namespace xgrad
