#include <xgrad/data/shard.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace xgrad {
namespace {

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
