// LentBlock: has an allocation return memory that belongs to someone else. Internal.
#pragma once

#include <cstddef>

namespace xgrad::detail {

/// The first allocation of this size on this thread while a LentBlock lives returns its block. Who
/// makes one sees to it that nobody passes the block to deallocate().
class LentBlock {
 public:
  LentBlock(void* block, std::size_t bytes);
  ~LentBlock();
  LentBlock(const LentBlock&) = delete;
  LentBlock& operator=(const LentBlock&) = delete;
};

}  // namespace xgrad::detail
