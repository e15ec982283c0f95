#include <xgrad/autograd/large_blocks.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

namespace xgrad::detail {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kRegion = 8 << 20;
constexpr std::size_t kMost = std::size_t(1) << 47;  // so that sums of sizes do not overflow

/// `bytes` as a multiple of `unit`.
constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

char* map(void* wish, std::size_t bytes) {
  void* place = mmap(wish, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(place);
}

}  // namespace

void* LargeBlocks::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes, kPage);
  if (size < bytes || size > kMost) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  auto fit = by_size_.lower_bound({size, nullptr});
  if (fit == by_size_.end()) {
    grow(size);
    fit = by_size_.lower_bound({size, nullptr});
  }
  const auto [available, place] = *fit;
  by_size_.erase(fit);
  by_place_.erase(place);
  if (available > size) add_free(place, available - size);
  return place + (available - size);
}

void LargeBlocks::deallocate(void* pointer, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  add_free(static_cast<char*>(pointer), rounded(bytes, kPage));
}

// Joins the block with those that end where it begins or begin where it ends.
void LargeBlocks::add_free(char* place, std::size_t size) {
  auto next = by_place_.lower_bound(place);
  if (next != by_place_.end() && place + size == next->first) {
    size += next->second;
    by_size_.erase({next->second, next->first});
    next = by_place_.erase(next);
  }
  if (next != by_place_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == place) {
      place = before->first;
      size += before->second;
      by_size_.erase({before->second, before->first});
      by_place_.erase(before);
    }
  }
  by_place_.emplace(place, size);
  by_size_.emplace(size, place);
}

// Right below the last region where the system allows it: what is free at its lower end, where
// blocks are cut last, and the new one are one block then.
void LargeBlocks::grow(std::size_t size) {
  const std::size_t bytes = std::max(rounded(size, kHugePage), kRegion);
  char* place = lowest_ == nullptr ? nullptr : map(lowest_ - bytes, bytes);
  if (place == nullptr || place != lowest_ - bytes) {
    if (place != nullptr) munmap(place, bytes);
    place = map(nullptr, bytes + kHugePage);
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    place += rounded(address, kHugePage) - address;
  }
#ifdef MADV_HUGEPAGE
  madvise(place, bytes, MADV_HUGEPAGE);  // a wish: nothing depends on it
#endif
  lowest_ = place;
  add_free(place, bytes);
}

}  // namespace xgrad::detail
