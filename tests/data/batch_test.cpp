#include <gtest/gtest.h>

#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {
namespace {

const TaskShape kTokens = {
    .output = OutputKind::tokens, .vocabulary = 10, .max_length = 4, .classes = 10};
const TaskShape kLabels = {
    .output = OutputKind::sequence, .vocabulary = 10, .max_length = 4, .classes = 2};
const TaskShape kImages = {.input = InputKind::image,
                           .output = OutputKind::sequence,
                           .height = 2,
                           .width = 3,
                           .channels = 1,
                           .classes = 2};

TEST(Collate, S4_1_PadsToTheLongestAndMasks) {
  const Batch batch =
      collate({{{5, 6}, {}, {6, 5}}, {{7}, {}, {7}}, {{1, 2, 3}, {}, {3, 2, 1}}}, kTokens);
  EXPECT_EQ(batch.size, 3);
  EXPECT_EQ(batch.ids, (Ids{{5, 6, 0}, {7, 0, 0}, {1, 2, 3}}));
  EXPECT_EQ(batch.targets, (Ids{{6, 5, kIgnore}, {7, kIgnore, kIgnore}, {3, 2, 1}}));
  ASSERT_TRUE(batch.mask);
  EXPECT_EQ(*batch.mask, (Mask{{1, 1, 0}, {1, 0, 0}, {1, 1, 1}}));
}

TEST(Collate, NoMaskWhereNothingIsPadded) {
  const Batch batch = collate({{{5, 6}, {}, {1}}, {{7, 8}, {}, {0}}}, kLabels);
  EXPECT_FALSE(batch.mask);
  EXPECT_EQ(batch.ids, (Ids{{5, 6}, {7, 8}}));
  EXPECT_EQ(batch.targets, (Ids{1, 0}));
  EXPECT_EQ(batch.targets.dimension(), 1);
}

TEST(Collate, MissingTargetsCountNothing) {
  EXPECT_EQ(collate({{{5, 6}, {}, {}}, {{7}, {}, {4}}}, kTokens).targets,
            (Ids{{kIgnore, kIgnore}, {4, kIgnore}}));
  EXPECT_EQ(collate({{{5, 6}, {}, {}}, {{7}, {}, {1}}}, kLabels).targets, (Ids{kIgnore, 1}));
}

TEST(Collate, StacksImages) {
  const Batch batch =
      collate({{{}, {0, 1, 2, 3, 4, 5}, {1}}, {{}, {6, 7, 8, 9, 10, 11}, {0}}}, kImages);
  ASSERT_EQ(batch.features.shape(), (Shape{2, 2, 3, 1}));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(batch.features.data()[i], float(i));
  EXPECT_EQ(batch.targets, (Ids{1, 0}));
  EXPECT_FALSE(batch.mask);
}

TEST(Collate, OfNothingIsAnError) {
  EXPECT_THROW(collate({}, kTokens), DataError);
}

std::string error_of(const Example& example, const TaskShape& shape) {
  try {
    check_example(example, shape, 3);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(CheckExample, NamesWhatDoesNotFit) {
  EXPECT_EQ(error_of({{0, 9}, {}, {9, kIgnore}}, kTokens), "none");
  EXPECT_EQ(error_of({{0, 9}, {}, {}}, kTokens), "none");
  EXPECT_EQ(error_of({{}, {}, {}}, kTokens), "example 3: has no tokens");
  EXPECT_EQ(error_of({{1, 10}, {}, {}}, kTokens), "example 3: token 1 is 10, must be below 10");
  EXPECT_EQ(error_of({{1, -1}, {}, {}}, kTokens), "example 3: token 1 is -1, must be below 10");
  EXPECT_EQ(error_of({{1, 1, 1, 1, 1}, {}, {}}, kTokens),
            "example 3: has 5 tokens, the longest may have 4");
  EXPECT_EQ(error_of({{1, 2}, {}, {1}}, kTokens), "example 3: has 1 targets, expected 2");
  EXPECT_EQ(error_of({{1, 2}, {}, {1, 1}}, kLabels), "example 3: has 2 targets, expected 1");
  EXPECT_EQ(error_of({{1, 2}, {}, {2}}, kLabels), "example 3: target 0 is 2, must be below 2");
  EXPECT_EQ(error_of({{1, 2}, {}, {-1}}, kLabels), "example 3: target 0 is -1, must be below 2");
}

TEST(CheckExample, NamesWhatDoesNotFitInAnImage) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, 4, 5}, {1}}, kImages), "none");
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, 4}, {1}}, kImages),
            "example 3: has 5 pixel values, expected (2, 3, 1)");
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, nan, 5}, {1}}, kImages),
            "example 3: pixel value 4 is not finite");
}

}  // namespace
}  // namespace xgrad
