// Memory for large tensors, kept between training steps. Not installed.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace xgrad::detail {

/// Blocks cut from regions of the system's memory, best fit first, and joined with their free
/// neighbours when they return. Regions are never given back: a warm training step takes no page
/// fault, and its peak is the process's. Regions ask for huge pages, which spare the products most
/// misses of address translation.
class LargeBlocks {
 public:
  /// Blocks below this size are for an allocator of small blocks.
  static constexpr std::size_t kSmallest = 256 << 10;

  /// Returns `bytes` bytes aligned to 4096. Throws std::bad_alloc.
  void* allocate(std::size_t bytes);
  void deallocate(void* pointer, std::size_t bytes) noexcept;

 private:
  using Free = std::pair<std::size_t, char*>;  // size and place

  void add_free(char* place, std::size_t size);
  void grow(std::size_t size);

  std::mutex mutex_;
  char* lowest_ = nullptr;  // of the last region
  std::set<Free> by_size_;
  std::map<char*, std::size_t> by_place_;  // the same blocks
};

}  // namespace xgrad::detail
