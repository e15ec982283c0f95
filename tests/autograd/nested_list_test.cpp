#include <gtest/gtest.h>

#include <xgrad/autograd/nested_list.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

TEST(NestedList, EachPairOfBracesIsAnAxis) {
  EXPECT_TRUE(same_bits(xgrad::tensor<double>(1), tensor({}, {1})));
  EXPECT_TRUE(same_bits(xgrad::tensor<double>({1, 2.5}), tensor({2}, {1, 2.5})));
  EXPECT_TRUE(
      same_bits(xgrad::tensor<double>({{1, 2, 3}, {4, 5, 6}}), tensor({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(same_bits(xgrad::tensor<double>({{{1}, {2}}}), tensor({1, 2, 1}, {1, 2})));
  EXPECT_EQ(xgrad::tensor<std::int32_t>({{7, -100}}), Ids({{7, -100}}));
}

// Braces around one item could also be read as the item itself.
TEST(NestedList, BracesAroundOneItemAreAnAxisToo) {
  EXPECT_EQ(xgrad::tensor<float>({1}).shape(), (Shape{1}));
  EXPECT_EQ(xgrad::tensor<float>({{1}}).shape(), (Shape{1, 1}));
  EXPECT_EQ(xgrad::tensor<float>({{1}, {2}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(xgrad::tensor<float>({{{1, 2}}}).shape(), (Shape{1, 1, 2}));
}

TEST(NestedList, MayBeEmpty) {
  EXPECT_EQ(xgrad::tensor<float>({}).shape(), (Shape{0}));
  EXPECT_EQ(xgrad::tensor<float>({{}, {}}).shape(), (Shape{2, 0}));
}

TEST(NestedList, RefusesItemsOfDifferentShapes) {
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        xgrad::tensor<float>({{1, 2}, {3}});
      },
      "tensor: expected items of one shape, got (2) and (1)"));
  EXPECT_TRUE(throws_with<ShapeError>([] { xgrad::tensor<float>({1, {2}}); }, "got () and (1)"));
}

}  // namespace xgrad::test
