#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/range.hpp>
#include <xgrad/data/batch.hpp>

#include "support/tensors.hpp"

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

const TaskShape kVectors = {.input = InputKind::vectors,
                            .output = OutputKind::tokens,
                            .max_length = 3,
                            .classes = 1,
                            .features = 2,
                            .target = TargetKind::numbers};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Collate, S2_15_S4_3_VectorsSideBySide) {
  const Batch batch = collate(
      {{.features = {1, 2, 3, 4}, .values = {0.5f, kNan}}, {.features = {5, 6}, .values = {-7}}},
      kVectors);
  EXPECT_EQ(batch.features, (Tensor<float>{{{1, 2}, {3, 4}}, {{5, 6}, {0, 0}}}));
  ASSERT_TRUE(batch.mask);
  EXPECT_EQ(*batch.mask, (Mask{{1, 1}, {1, 0}}));
  EXPECT_EQ(batch.values, test::tensor<float>({2, 2, 1}, {0.5f, 0, -7, 0}));
  ASSERT_TRUE(batch.valid);
  EXPECT_EQ(*batch.valid, test::tensor<std::uint8_t>({2, 2, 1}, {1, 0, 1, 0}));
  EXPECT_FALSE(batch.adjacency);
}

TEST(Collate, S4_8_NumbersOfASequence) {
  TaskShape shape = kVectors;
  shape.output = OutputKind::sequence;
  shape.classes = 2;
  const Batch all = collate({{.features = {1, 2}, .values = {3, 4}}}, shape);
  EXPECT_EQ(all.values, (Tensor<float>{{3, 4}}));
  EXPECT_FALSE(all.valid);
  const Batch none = collate({{.features = {1, 2}}}, shape);  // to predict
  EXPECT_EQ(none.values, (Tensor<float>{{0, 0}}));
  EXPECT_EQ(*none.valid, (Mask{{0, 0}}));
}

TEST(Collate, S4_4_NeighboursAreThoseWithAnEdge) {
  TaskShape shape = kLabels;
  shape.graph = true;
  const Batch batch = collate({{.ids = {1, 2, 3}, .targets = {1}, .edges = {{0, 2}}},
                               {.ids = {4, 5}, .targets = {0}, .edges = {{1, 0}}}},
                              shape);
  ASSERT_TRUE(batch.adjacency);
  EXPECT_EQ(*batch.adjacency, (Mask{{{1, 0, 1}, {0, 1, 0}, {1, 0, 1}},  //
                                    {{1, 1, 0}, {1, 1, 0}, {0, 0, 0}}}));
}

const TaskShape kGenerated = {.output = OutputKind::generated,
                              .vocabulary = 10,
                              .max_length = 4,
                              .classes = 3,
                              .max_outputs = 4};

TEST(Collate, S4_7_GeneratedTargetsAreAsLongAsTheyAre) {
  const Batch batch = collate(
      {{.ids = {1, 2, 3}, .targets = {2}}, {.ids = {4}, .targets = {0, 1, 2}}, {.ids = {4}}},
      kGenerated);
  EXPECT_EQ(batch.targets, (Ids{{2, kIgnore, kIgnore}, {0, 1, 2}, {kIgnore, kIgnore, kIgnore}}));
}

std::string error_of(const Example& example, const TaskShape& shape) {
  return test::message_of<DataError>([&] { check_example(example, shape, 3); });
}

TEST(CheckExample, NamesWhatDoesNotFit) {
  EXPECT_EQ(error_of({{0, 9}, {}, {9, kIgnore}}, kTokens), "none");
  EXPECT_EQ(error_of({{0, 9}, {}, {}}, kTokens), "none");
  EXPECT_EQ(error_of({{}, {}, {}}, kTokens), "example 3: has no tokens");
  EXPECT_EQ(error_of({{1, 10}, {}, {}}, kTokens), "example 3: token 1 is 10, must be below 10");
  EXPECT_EQ(error_of({{1, -1}, {}, {}}, kTokens), "example 3: token 1 is -1, must be below 10");
  EXPECT_EQ(error_of({{1, 1, 1, 1, 1}, {}, {}}, kTokens),
            "example 3: has 5 tokens, must have at most 4");
  EXPECT_EQ(error_of({{1, 2}, {}, {1}}, kTokens), "example 3: has 1 targets, expected 2");
  EXPECT_EQ(error_of({{1, 2}, {}, {1, 1}}, kLabels), "example 3: has 2 targets, expected 1");
  EXPECT_EQ(error_of({{1, 2}, {}, {2}}, kLabels), "example 3: target 0 is 2, must be below 2");
  EXPECT_EQ(error_of({{1, 2}, {}, {-1}}, kLabels), "example 3: target 0 is -1, must be below 2");
}

TEST(CheckExample, S4_7_GeneratedTargetsEndWithTheLastClassAndHaveItNowhereElse) {
  const auto said = [](std::vector<std::int32_t> targets) {
    return error_of({.ids = {1, 2}, .targets = std::move(targets)}, kGenerated);
  };
  EXPECT_EQ(said({}), "none");
  EXPECT_EQ(said({2}), "none");
  EXPECT_EQ(said({0, 1, 0, 2}), "none");
  EXPECT_EQ(said({0, 0, 0, 0, 2}), "example 3: has 5 targets, must have at most 4");
  EXPECT_EQ(
      said({0, 1}),
      "example 3: class 2 ends an output: it must be the last target and must not occur before");
  EXPECT_EQ(
      said({0, 2, 2}),
      "example 3: class 2 ends an output: it must be the last target and must not occur before");
  EXPECT_EQ(said({kIgnore, 2}), "example 3: target 0 is -100, must be below 3");
}

TEST(CheckExample, NamesWhatDoesNotFitInVectorsAndNumbers) {
  const auto said = [](const Example& example) { return error_of(example, kVectors); };
  EXPECT_EQ(said({.features = {1, 2, 3, 4}, .values = {0, kNan}}), "none");
  EXPECT_EQ(said({.features = {1, 2, 3, 4}}), "none");
  EXPECT_EQ(said({}), "example 3: has no vectors");
  EXPECT_EQ(said({.features = {1, 2, 3}}), "example 3: has 3 numbers, expected vectors of 2");
  EXPECT_EQ(said({.features = std::vector<float>(8)}),
            "example 3: has 4 vectors, must have at most 3");
  EXPECT_EQ(said({.features = {1, 2, 3, kNan}}), "example 3: number 1 of vector 1 is not finite");
  EXPECT_EQ(said({.features = {1, 2}, .values = {1, 2}}),
            "example 3: has 2 target numbers, expected 1");
  EXPECT_EQ(said({.features = {1, 2}, .values = {std::numeric_limits<float>::infinity()}}),
            "example 3: target number 0 is inf, must be finite");
  EXPECT_EQ(said({.features = {1, 2}, .targets = {1}}),
            "example 3: has classes as targets, expected numbers");
  TaskShape binary = kVectors;
  binary.target = TargetKind::binary;
  EXPECT_EQ(error_of({.features = {1, 2}, .values = {1.5f}}, binary),
            "example 3: target number 0 is 1.5, must be between 0 and 1");
  EXPECT_EQ(error_of({.ids = {1}, .targets = {1}, .values = {1}}, kLabels),
            "example 3: has numbers as targets, expected classes");
}

TEST(CheckExample, S4_4_NamesAnEdgeThatDoesNotFit) {
  const Example example{.ids = {1, 2}, .targets = {1}, .edges = {{0, 1}, {1, 2}}};
  EXPECT_EQ(error_of(example, kLabels), "example 3: has edges, but the task has none");
  TaskShape graph = kLabels;
  graph.graph = true;
  EXPECT_EQ(error_of(example, graph), "example 3: edge 1 is 1 - 2, must join two of the 2 tokens");
}

TEST(CheckExample, NamesWhatDoesNotFitInAnImage) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, 4, 5}, {1}}, kImages), "none");
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, 4}, {1}}, kImages),
            "example 3: has 5 pixel values, expected (2, 3, 1)");
  EXPECT_EQ(error_of({{}, {0, 1, 2, 3, nan, 5}, {1}}, kImages),
            "example 3: pixel value 4 is not finite");
}

template <class T>
bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a && b ? *a == *b : !a && !b;
}

// A shard is the batch that its own examples make.
void expect_the_batches_of_parts(const std::vector<Example>& examples, const TaskShape& shape) {
  const Batch whole = collate(examples, shape);
  for (std::size_t count = 1; count <= examples.size(); ++count) {
    std::size_t end = 0;
    for (std::size_t index = 0; index < count; ++index) {
      const Range rows = share(examples.size(), index, count);
      ASSERT_EQ(rows.begin, end);
      end = rows.end;
      const Batch expected = collate({examples.begin() + std::ptrdiff_t(rows.begin),
                                      examples.begin() + std::ptrdiff_t(rows.end)},
                                     shape);
      const Batch part = cut(whole, {index, count}, shape.output);
      EXPECT_EQ(part.size, expected.size);
      EXPECT_EQ(part.ids, expected.ids) << index << " of " << count;
      EXPECT_EQ(part.features, expected.features);
      EXPECT_EQ(part.targets, expected.targets) << index << " of " << count;
      EXPECT_EQ(part.values, expected.values);
      EXPECT_TRUE(same(part.mask, expected.mask)) << index << " of " << count;
      EXPECT_TRUE(same(part.valid, expected.valid));
      EXPECT_TRUE(same(part.adjacency, expected.adjacency));
    }
    EXPECT_EQ(end, examples.size());
  }
}

TEST(Shard, OfTokensWithATargetEach) {
  expect_the_batches_of_parts(
      {{{5, 6}, {}, {6, 5}},
       {{7}, {}, {7}},
       {{1, 2, 3}, {}, {3, 2, kIgnore}},
       {{4}, {}, {}},
       {{8, 9}, {}, {kIgnore, kIgnore}}},
      {.output = OutputKind::tokens, .vocabulary = 10, .max_length = 4, .classes = 10});
}

TEST(Shard, OfTokensWithATargetTogether) {
  expect_the_batches_of_parts(
      {{{5, 6}, {}, {1}}, {{7}, {}, {0}}, {{1, 2, 3}, {}, {}}, {{4, 4, 4}, {}, {1}}},
      {.output = OutputKind::sequence, .vocabulary = 10, .max_length = 4, .classes = 2});
}

// Inputs and generated targets are equally long in the batch, but not in its parts.
TEST(Shard, OfGeneratedTargets) {
  expect_the_batches_of_parts({{{5, 6, 7}, {}, {1, 3}}, {{7}, {}, {2, 2, 3}}, {{1, 2}, {}, {3}}},
                              {.output = OutputKind::generated,
                               .vocabulary = 10,
                               .max_length = 4,
                               .classes = 4,
                               .max_outputs = 3});
}

TEST(Shard, OfImages) {
  expect_the_batches_of_parts(
      {{{}, {0, 1, 2, 3}, {1}}, {{}, {4, 5, 6, 7}, {0}}, {{}, {8, 9, 1, 2}, {1}}},
      {.input = InputKind::image,
       .output = OutputKind::sequence,
       .height = 2,
       .width = 1,
       .channels = 2,
       .classes = 2});
}

TEST(Shard, OfVectorsWithNumbers) {
  const float missing = std::numeric_limits<float>::quiet_NaN();
  const TaskShape each = {.input = InputKind::vectors,
                          .output = OutputKind::tokens,
                          .max_length = 3,
                          .classes = 1,
                          .features = 2,
                          .target = TargetKind::numbers};
  expect_the_batches_of_parts({{.features = {1, 2, 3, 4}, .values = {5, missing}},
                               {.features = {6, 7}, .values = {8}},
                               {.features = {1, 2, 3, 4, 5, 6}, .values = {7, 8, 9}}},
                              each);
  TaskShape together = each;
  together.output = OutputKind::sequence;
  together.classes = 2;
  expect_the_batches_of_parts({{.features = {1, 2, 3, 4}, .values = {5, missing}},
                               {.features = {6, 7}, .values = {8, 9}},
                               {.features = {1, 2}, .values = {3, 4}}},
                              together);
}

TEST(Shard, OfGraphs) {
  expect_the_batches_of_parts({{{1, 2, 3}, {}, {1}, {}, {{0, 1}, {1, 2}}},
                               {{1, 2}, {}, {0}, {}, {{0, 1}}},
                               {{1}, {}, {0}, {}, {}}},
                              {.output = OutputKind::sequence,
                               .vocabulary = 10,
                               .max_length = 4,
                               .classes = 2,
                               .graph = true});
}

}  // namespace
}  // namespace xgrad
