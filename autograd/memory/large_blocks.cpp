#include <xgrad/autograd/memory/large_blocks.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

namespace xgrad::detail {

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

}  // namespace

LargeBlocks::Block::Block(std::size_t size) : size(size) {
  Sizes alone{{size, nullptr}};
  node = alone.extract(alone.begin());
}

void* LargeBlocks::allocate(std::size_t bytes) {
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

void LargeBlocks::deallocate(void* pointer) noexcept {
  const std::lock_guard lock(mutex_);
  add_free(by_place_.find(static_cast<char*>(pointer)));
}

// Marks the block as free and joins it with free neighbours.
void LargeBlocks::add_free(Blocks::iterator block) noexcept {
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
void LargeBlocks::grow(std::size_t size) {
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

}  // namespace xgrad::detail
