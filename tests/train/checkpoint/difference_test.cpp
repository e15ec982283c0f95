#include <xgrad/train/checkpoint/checkpoint.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "support/checkpoints.hpp"

namespace xgrad {
namespace {

using Lines = std::vector<std::string>;

TEST(CheckpointDiff, NothingBetweenEquals) {
  EXPECT_EQ(differences(test::small_checkpoint(), test::small_checkpoint()), Lines());
}

TEST(CheckpointDiff, NamesEverything) {
  const Checkpoint a = test::small_checkpoint();
  Checkpoint b = a;
  b.step = 1201;
  b.state.erase("note");
  b.state["epoch"] = std::int64_t(4);
  b.state["new"] = 0.5;
  auto& x = std::get<Tensor<float>>(b.parameters[0].tensor);
  x.data()[0] = std::nextafter(std::nextafter(x.data()[0], 9.f), 9.f);
  b.parameters[1].tensor = xgrad::cast<double>(std::get<Tensor<float>>(b.parameters[1].tensor));
  std::get<Tensor<float>>(b.parameters[2].tensor).reshape({1, 3});
  b.parameters[3].name = "head.other";
  b.optimizer.pop_back();
  const Lines lines = differences(a, b);
  EXPECT_EQ(lines, (Lines{"step: 1200 -> 1201", "state epoch: -3 -> 4",
                          "state note: two\nlines -> nothing", "state new: nothing -> 0.5",
                          "parameter encoder.layers.0.attention.in_proj_weight: 1 of 6 numbers "
                          "differ, by at most 1.19e-07 and 2 ulp",
                          "parameter encoder.layers.0.norm1.weight: one is float32, the other "
                          "float64",
                          "parameter encoder.layers.0.attention.in_proj_bias: shape (3) -> (1, 3)",
                          "parameter head.scale: only in the first",
                          "parameter head.other: only in the second",
                          "optimizer exp_avg.head.weight: only in the first"}));
}

// Neighbours are one unit apart, across zero too.
TEST(CheckpointDiff, UnitsInTheLastPlace) {
  const auto between = [](double x, double y) {
    Checkpoint a, b;
    a.parameters = {{"m.w", full<double>({1}, x)}};
    b.parameters = {{"m.w", full<double>({1}, y)}};
    return differences(a, b).at(0);
  };
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(between(1, std::nextafter(1, 2)).ends_with(" and 1 ulp"));
  EXPECT_TRUE(between(-tiny, tiny).ends_with(" and 2 ulp"));
  EXPECT_TRUE(between(-0.0, 0.0).ends_with(" and 0 ulp")) << between(-0.0, 0.0);
}

}  // namespace
}  // namespace xgrad
