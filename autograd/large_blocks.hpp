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
  /// Allocates nothing itself, so that it works where memory has run out.
  void deallocate(void* pointer) noexcept;

 private:
  using Sizes = std::set<std::pair<std::size_t, char*>>;  // size and place
  struct Block {
    explicit Block(std::size_t size);

    std::size_t size;
    Sizes::node_type node;  // for by_size_, which has it while the block is free
  };
  using Blocks = std::map<char*, Block>;

  void add_free(Blocks::iterator block) noexcept;
  void grow(std::size_t size);

  std::mutex mutex_;
  char* lowest_ = nullptr;  // of the last region
  Sizes by_size_;           // the free ones
  Blocks by_place_;         // all
};

}  // namespace xgrad::detail
