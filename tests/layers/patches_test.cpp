#include <xgrad/layers/embedding.hpp>

#include <gtest/gtest.h>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

TEST(Patches, S0_3_ThereAndBack) {
  const Tensor<double> x = test::random_tensor({2, 6, 4, 3}, Rng(1));
  const Tensor<double> patches = patchify(x, 2);
  EXPECT_EQ(patches.shape(), (Shape{2, 6, 12}));
  EXPECT_EQ(patches(0, 1, 0), x(0, 0, 2, 0));  // the second patch starts at column 2
  EXPECT_EQ(patches(0, 2, 3), x(0, 2, 1, 0));  // the third one row of patches further down
  EXPECT_TRUE(test::same_bits(unpatchify(patches, 2, 6, 4), x));
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [] {
        patchify(zeros<double>({6, 4, 3}), 2);
      },
      "patchify: expected (B, H, W, C), got (6, 4, 3)"));
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { patchify(x, 4); },
                                            "patch (4) does not divide the image's 6 x 4"));
}

// Reads the inputs of a convolution with kernel 2 + 2 overlap, stride 2 and padding `overlap`, one
// by one. With an overlap of 5, each patch has the whole image.
TEST(Patches, WithOverlapTheyReachIntoTheirNeighbours) {
  const Tensor<double> x = test::random_tensor({2, 6, 4, 3}, Rng(1));
  const auto pixel = [&](std::size_t b, int row, int column, std::size_t channel) {
    return row < 0 || row >= 6 || column < 0 || column >= 4
               ? 0.0
               : x(b, std::size_t(row), std::size_t(column), channel);
  };
  for (const int overlap : {1, 2, 5}) {
    const int side = 2 + 2 * overlap;
    const Tensor<double> patches = patchify(x, 2, std::size_t(overlap));
    ASSERT_EQ(patches.shape(), (Shape{2, 6, std::size_t(side * side * 3)}));
    const double* next = patches.data();
    for (std::size_t b = 0; b < 2; ++b) {
      for (int patch = 0; patch < 6; ++patch) {
        const int top = patch / 2 * 2 - overlap, left = patch % 2 * 2 - overlap;
        for (int at = 0; at < side * side * 3; ++at, ++next) {
          const int row = top + at / (3 * side), column = left + at / 3 % side;
          ASSERT_EQ(*next, pixel(b, row, column, std::size_t(at % 3))) << overlap << " " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace xgrad
