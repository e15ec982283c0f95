#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <xgrad/autograd/parallel.hpp>

#include "support/no_threads.hpp"

namespace xgrad::test {

namespace {

class Parallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(before_); }

 private:
  int before_ = threads();
};

}  // namespace

TEST_P(Parallel, VisitsEveryIndexOnceInBlocksOfTheGrain) {
  for (std::size_t n : {0, 1, 2, 9, 10, 11, 99, 1000}) {
    for (std::size_t grain : {1, 3, 10, 5000}) {
      std::vector<std::atomic<int>> visits(n);
      std::atomic<bool> aligned = true;
      parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
        if (begin % grain != 0 || end != std::min(n, begin + grain)) aligned = false;
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_TRUE(aligned) << n << " by " << grain;
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(visits[i], 1) << n << " by " << grain;
    }
  }
}

// The way to reduce: a sum for each block, added in the order of the blocks.
TEST_P(Parallel, GivesTheSameBits) {
  const std::size_t n = 100000;
  const std::size_t grain = 1024;
  std::vector<float> blocks((n + grain - 1) / grain);
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
    float sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += 1.0f / float(i + 1);
    blocks[begin / grain] = sum;
  });
  float total = 0;
  for (float sum : blocks) total += sum;

  float expected = 0;
  for (std::size_t begin = 0; begin < n; begin += grain) {
    float sum = 0;
    for (std::size_t i = begin; i < std::min(n, begin + grain); ++i) sum += 1.0f / float(i + 1);
    expected += sum;
  }
  EXPECT_EQ(total, expected);
}

TEST_P(Parallel, RethrowsAnException) {
  std::atomic<int> blocks = 0;
  const auto body = [&](std::size_t begin, std::size_t) {
    ++blocks;
    if (begin == 500) throw std::runtime_error("block 500");
  };
  try {
    parallel_for(1000, 10, body);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "block 500");
  }
  EXPECT_GT(blocks, 0);
  blocks = 0;  // and goes on working
  parallel_for(400, 10, body);
  EXPECT_EQ(blocks, 40);
}

TEST_P(Parallel, Nests) {
  std::vector<std::atomic<int>> visits(64 * 64);
  parallel_for(64, 1, [&](std::size_t row, std::size_t) {
    parallel_for(64, 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++visits[row * 64 + i];
    });
  });
  for (const auto& count : visits) ASSERT_EQ(count, 1);
}

TEST_P(Parallel, ServesSeveralCallers) {
  std::vector<std::thread> callers;
  std::vector<std::size_t> sums(4);
  for (std::size_t& sum : sums) {
    callers.emplace_back([&sum] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::size_t> blocks(100);
        parallel_for(1000, 10, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) blocks[begin / 10] += i;
        });
        for (std::size_t block : blocks) sum += block;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::size_t sum : sums) EXPECT_EQ(sum, 50u * 499500u);
}

TEST_P(Parallel, UsesNoMoreThreadsThanAllowed) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  parallel_for(200, 1, [&](std::size_t, std::size_t) {
    const int running = ++now;
    int seen = most;
    while (running > seen && !most.compare_exchange_weak(seen, running)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --now;
  });
  EXPECT_LE(most, GetParam());
  EXPECT_GE(most, 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 3, 8));

TEST(Threads, AreAtLeastOne) {
  const int before = threads();
  EXPECT_GE(before, 1);
  set_threads(0);
  EXPECT_EQ(threads(), 1);
  set_threads(5);
  EXPECT_EQ(threads(), 5);
  set_threads(before);
}

TEST(Threads, AreNoMoreThanTheSystemStarts) {
  const int before = threads();
  {
    const NoThreads none;
    set_threads(50);
  }
  EXPECT_LT(threads(), 50);
  EXPECT_TRUE(thread_shortage().starts_with(std::to_string(threads()) + " thread"));
  EXPECT_TRUE(thread_shortage().ends_with(" in place of 50 (Resource temporarily unavailable)"))
      << thread_shortage();
  std::vector<std::atomic<int>> visits(100);
  parallel_for(100, 1, [&](std::size_t i, std::size_t) { ++visits[i]; });
  for (const auto& count : visits) EXPECT_EQ(count, 1);
  set_threads(before);
  EXPECT_EQ(thread_shortage(), "");
}

}  // namespace xgrad::test
