// Memory for large tensors, kept between training steps. Internal.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace xgrad::detail {

/// A best-fit allocator. It cuts blocks from regions of the system's memory and joins freed blocks
/// with free neighbours. It never returns regions to the system: a warm training step causes no
/// page faults, and the process keeps its peak memory. It asks the system for huge pages, so that
/// matrix products have far fewer TLB misses.
class LargeBlocks {
 public:
  /// Bytes of the smallest block. Another allocator serves smaller requests.
  static constexpr std::size_t kSmallest = 256 << 10;

  /// Returns `bytes` bytes aligned to 4096. Throws std::bad_alloc.
  void* allocate(std::size_t bytes);
  /// Frees a block. Allocates nothing itself, so that it works when memory has run out.
  void deallocate(void* pointer) noexcept;

 private:
  using Sizes = std::set<std::pair<std::size_t, char*>>;  // size, address
  struct Block {
    explicit Block(std::size_t size);

    std::size_t size;
    Sizes::node_type node;  // entry for by_size_, kept here while the block is in use
  };
  using Blocks = std::map<char*, Block>;

  void add_free(Blocks::iterator block) noexcept;
  void grow(std::size_t size);

  std::mutex mutex_;
  char* lowest_ = nullptr;  // first byte of the last region
  Sizes by_size_;           // free blocks
  Blocks by_place_;         // all blocks, by address
};

}  // namespace xgrad::detail
