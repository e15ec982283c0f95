#include <xgrad/autograd/detail/large_blocks.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include <xgrad/autograd/random.hpp>

namespace xgrad::detail {
namespace {

struct Block {
  char* place;
  std::size_t size;
  char mark;
};

// Blocks come and go in random order; each keeps what was written to both of its ends.
TEST(LargeBlocks, NeverOverlap) {
  LargeBlocks memory;
  const Rng rng(1);
  std::vector<Block> live;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    if (live.size() < 40 && rng.below(2, i) == 0) {
      const std::size_t size = LargeBlocks::kSmallest + rng.below(5 << 20, i + 10000);
      Block b{static_cast<char*>(memory.allocate(size)), size, char(i)};
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(b.place) % 4096, 0u);
      std::memset(b.place, b.mark, 64);
      std::memset(b.place + size - 64, b.mark, 64);
      live.push_back(b);
    } else if (!live.empty()) {
      const std::size_t at = rng.below(live.size(), i + 20000);
      const Block b = live[at];
      for (std::size_t k = 0; k < 64; ++k) {
        ASSERT_EQ(b.place[k], b.mark);
        ASSERT_EQ(b.place[b.size - 1 - k], b.mark);
      }
      memory.deallocate(b.place);
      live.erase(live.begin() + std::ptrdiff_t(at));
    }
  }
}

// Neighbours join whatever the order of their return, so that the whole region is one block again.
TEST(LargeBlocks, JoinWhenTheyReturn) {
  LargeBlocks memory;
  const std::size_t size = 1 << 20, count = 8;  // one region
  for (const std::size_t stride : {1, 3, 7}) {
    std::vector<char*> blocks(count);
    for (char*& b : blocks) b = static_cast<char*>(memory.allocate(size));
    char* const first = *std::min_element(blocks.begin(), blocks.end());
    for (std::size_t i = 0; i < count; ++i) memory.deallocate(blocks[i * stride % count]);
    void* const whole = memory.allocate(count * size);
    EXPECT_EQ(whole, first) << stride;
    memory.deallocate(whole);
  }
}

// A block may lie across regions: what is free at the end of one is not lost to larger ones.
TEST(LargeBlocks, RegionsJoin) {
  LargeBlocks memory;
  const std::size_t size = 5 << 20, count = 40;  // one in a region of 8 MiB that stands alone
  std::vector<char*> blocks(count);
  for (char*& b : blocks) b = static_cast<char*>(memory.allocate(size));
  const auto [least, most] = std::minmax_element(blocks.begin(), blocks.end());
  EXPECT_LE(*most + size - *least, (count * size + (8 << 20)));
  for (char* b : blocks) memory.deallocate(b);
}

// deallocate() would end the program where it allocated and memory had run out. Of the many that
// return, none has a free neighbour to join.
TEST(LargeBlocks, ReturnWithoutAllocating) {
  LargeBlocks memory;
  std::vector<void*> blocks(64);
  for (void*& b : blocks) b = memory.allocate(LargeBlocks::kSmallest);
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < blocks.size(); i += 2) memory.deallocate(blocks[i]);
  EXPECT_EQ(mallinfo2().uordblks, before);
  for (std::size_t i = 1; i < blocks.size(); i += 2) memory.deallocate(blocks[i]);
}

TEST(LargeBlocks, ReportWhatCannotBe) {
  LargeBlocks memory;
  EXPECT_THROW(memory.allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(memory.allocate(std::size_t(1) << 62), std::bad_alloc);
  EXPECT_THROW(memory.allocate(std::size_t(1) << 47), std::bad_alloc);
  memory.deallocate(memory.allocate(1 << 20));
}

}  // namespace
}  // namespace xgrad::detail
