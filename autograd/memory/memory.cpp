// Allocation of tensors, and its counters.
#include <xgrad/autograd/memory/memory.hpp>

#include <sys/mman.h>
#include <tbb/scalable_allocator.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/detail/large_blocks.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kRegion = 8 << 20;
constexpr std::size_t kMost = std::size_t(1) << 47;  // larger sizes could overflow sums

// `bytes` rounded up to a multiple of `unit`.
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

char* map(void* wish, std::size_t bytes) {
  void* place = mmap(wish, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(place);
}

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

detail::LargeBlocks::Block::Block(std::size_t size) : size(size) {
  Sizes alone{{size, nullptr}};
  node = alone.extract(alone.begin());
}

void* detail::LargeBlocks::allocate(std::size_t bytes) {
  const std::size_t size = round_up(bytes, kPage);
  if (size < bytes || size > kMost) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  auto fit = by_size_.lower_bound({size, nullptr});
  if (fit == by_size_.end()) {
    grow(size);
    fit = by_size_.lower_bound({size, nullptr});
  }
  const auto [available, place] = *fit;
  const std::size_t rest = available - size;
  const auto block = by_place_.find(place);
  // The insertion may throw, so it comes first; the steps after it cannot.
  if (rest > 0) by_place_.emplace_hint(std::next(block), place + rest, size);
  block->second.node = by_size_.extract(fit);
  if (rest > 0) {
    block->second.size = rest;
    add_free(block);
  }
  return place + rest;
}

void detail::LargeBlocks::deallocate(void* pointer) noexcept {
  const std::lock_guard lock(mutex_);
  add_free(by_place_.find(static_cast<char*>(pointer)));
}

// Marks the block as free and joins it with free neighbours.
void detail::LargeBlocks::add_free(Blocks::iterator block) noexcept {
  Sizes::node_type node = std::move(block->second.node);
  // Joins two blocks if they touch and `other`, one of them, is free.
  const auto join = [&](Blocks::iterator low, Blocks::iterator high, Blocks::iterator other) {
    const bool touch = low->first + low->second.size == high->first;
    if (!touch || !other->second.node.empty()) return false;
    by_size_.erase({other->second.size, other->first});
    low->second.size += high->second.size;
    by_place_.erase(high);
    return true;
  };
  const auto next = std::next(block);
  if (next != by_place_.end()) join(block, next, next);
  if (block != by_place_.begin()) {
    const auto before = std::prev(block);
    if (join(before, block, before)) block = before;
  }
  node.value() = {block->second.size, block->first};
  by_size_.insert(std::move(node));
}

// Adds a region, directly below the last one if possible. Blocks are cut from upper ends, so the
// lower end of the last region is often free and then joins the new region.
void detail::LargeBlocks::grow(std::size_t size) {
  const std::size_t bytes = std::max(round_up(size, kHugePage), kRegion);
  Blocks alone;
  alone.emplace(nullptr, bytes);  // first, since a region would leak if this threw
  char* place = lowest_ == nullptr ? nullptr : map(lowest_ - bytes, bytes);
  if (place == nullptr || place != lowest_ - bytes) {
    if (place != nullptr) munmap(place, bytes);
    place = map(nullptr, bytes + kHugePage);
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    place += round_up(address, kHugePage) - address;
  }
#ifdef MADV_HUGEPAGE
  madvise(place, bytes, MADV_HUGEPAGE);  // may fail without harm
#endif
  lowest_ = place;
  Blocks::node_type block = alone.extract(alone.begin());
  block.key() = place;
  add_free(by_place_.insert(std::move(block)).position);
}

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
