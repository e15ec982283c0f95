#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <xgrad/data/tasks/images/fashion_mnist.hpp>

namespace xgrad {
namespace {

std::vector<float> moved(const Move& move) {
  static const std::vector<float> table = [] {
    std::vector<float> values(256);
    for (std::size_t x = 0; x < 256; ++x) values[x] = float(x) * 10;
    return values;
  }();
  const std::vector<std::uint8_t> image = {1, 2, 3,  //
                                           4, 5, 6};
  std::vector<float> result(6, -1);
  move_image(image.data(), 2, 3, move, table.data(), result.data());
  return result;
}

TEST(MoveImage, ShiftsAndMirrors) {
  using V = std::vector<float>;
  EXPECT_EQ(moved({}), (V{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(moved({.mirrored = true}), (V{30, 20, 10, 60, 50, 40}));
  EXPECT_EQ(moved({.right = 1}), (V{0, 10, 20, 0, 40, 50}));
  EXPECT_EQ(moved({.right = -2}), (V{30, 0, 0, 60, 0, 0}));
  EXPECT_EQ(moved({.down = 1}), (V{0, 0, 0, 10, 20, 30}));
  EXPECT_EQ(moved({.down = -1}), (V{40, 50, 60, 0, 0, 0}));
  EXPECT_EQ(moved({.down = -1, .right = 1, .mirrored = true}), (V{0, 60, 50, 0, 0, 0}));
  EXPECT_EQ(moved({.right = 3}), V(6, 0)) << "out of the image";
  EXPECT_EQ(moved({.down = 5, .right = -7}), V(6, 0));
}

TEST(RandomMove, IsAFunctionOfSeedEpochAndIndex) {
  int changed_by_seed = 0, changed_by_epoch = 0, changed_by_index = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Move move = random_move(5, 7, i, 2);
    EXPECT_EQ(random_move(5, 7, i, 2), move);
    changed_by_seed += random_move(6, 7, i, 2) != move;
    changed_by_epoch += random_move(5, 8, i, 2) != move;
    changed_by_index += random_move(5, 7, i + 1, 2) != move;
  }
  EXPECT_GT(changed_by_seed, 180);  // 49 of 50 expected
  EXPECT_GT(changed_by_epoch, 180);
  EXPECT_GT(changed_by_index, 180);
}

TEST(RandomMove, EveryMoveIsEquallyLikely) {
  std::map<std::tuple<int, int, bool>, int> counts;
  for (std::uint64_t i = 0; i < 18000; ++i) {
    const Move move = random_move(1, 0, i, 1);
    ++counts[{move.down, move.right, move.mirrored}];
  }
  EXPECT_EQ(counts.size(), 18);
  for (const auto& [move, count] : counts) {
    EXPECT_LE(std::abs(std::get<0>(move)), 1);
    EXPECT_LE(std::abs(std::get<1>(move)), 1);
    EXPECT_NEAR(count, 1000, 160);  // five standard deviations
  }
}

TEST(RandomMove, WithoutShiftOnlyMirrors) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Move move = random_move(1, 2, i, 0);
    EXPECT_EQ(move.down, 0);
    EXPECT_EQ(move.right, 0);
  }
}

}  // namespace
}  // namespace xgrad
