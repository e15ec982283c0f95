#include <xgrad/layers/patches.hpp>

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
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { patchify(x, 4); },
                                            "patch (4) does not divide the image's 6 x 4"));
}

}  // namespace
}  // namespace xgrad
