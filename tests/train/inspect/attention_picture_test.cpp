#include <xgrad/train/inspect/attention_picture.hpp>

#include <gtest/gtest.h>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

using Colour = std::vector<std::uint8_t>;

Colour at(const Picture& picture, std::size_t row, std::size_t column) {
  const auto first = picture.rgb.begin() + std::ptrdiff_t(3 * (row * picture.width + column));
  return {first, first + 3};
}

const Colour kWhite = {247, 247, 247}, kBlue = {8, 48, 107};

// One sample of two heads, with two queries and three keys.
AttentionMap map() {
  return {"a", test::tensor<double>({1, 2, 2, 3}, {0, 0.125, 0.5, 0.5, 0, 0,  //
                                                   0, 0, 0, 0, 0.25, 1})};
}

// A row for each query and a column for each key; a quarter of the largest weight is half as dark.
TEST(AttentionPicture, OfAHeadHasAPixelForEachWeight) {
  const Picture picture = head_picture(map(), 0);
  EXPECT_EQ(picture.width, 3u);
  EXPECT_EQ(picture.height, 2u);
  EXPECT_EQ(at(picture, 0, 0), kWhite);
  EXPECT_EQ(at(picture, 0, 1), (Colour{127, 147, 177}));
  EXPECT_EQ(at(picture, 0, 2), kBlue);
  EXPECT_EQ(at(picture, 1, 0), kBlue);
  EXPECT_EQ(at(head_picture(map(), 1), 1, 1), (Colour{127, 147, 177}));
}

// Squares of 128 / 3 pixels, and four grey columns between the heads.
TEST(AttentionPicture, OfAllHeadsHasSquaresSideBySide) {
  const Picture all = heads_picture(map());
  EXPECT_EQ(all.width, 2 * 126u + 4);
  EXPECT_EQ(all.height, 84u);
  for (std::size_t head : {0, 1}) {
    const Picture own = head_picture(map(), head);
    for (std::size_t i = 0; i < 84; ++i) {
      for (std::size_t j = 0; j < 126; ++j) {
        ASSERT_EQ(at(all, i, head * 130 + j), at(own, i / 42, j / 42)) << i << ", " << j;
      }
      for (std::size_t j = 126; j < 130; ++j) ASSERT_EQ(at(all, i, j), (Colour{160, 160, 160}));
    }
  }
}

}  // namespace
}  // namespace xgrad
