#include <gtest/gtest.h>

#include <utility>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/tables/packed_examples.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

TEST(PackedExamples, GiveBackWhatCame) {
  const Rng rng(17);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return rng.below(bound, drawn++); };
  PackedExamples packed;
  std::vector<Example> all;
  for (int i = 0; i < 300'000; ++i) {  // more than stays in memory
    Example& e = all.emplace_back();
    for (auto n = below(4); n > 0; --n) e.ids.push_back(std::int32_t(below(9)));
    for (auto n = below(3); n > 0; --n) e.targets.push_back(-std::int32_t(below(9)));
    if (i % 7 == 6) e.features = {float(i), -1};
    if (i > 3000 && i % 2 == 0) e.values = {float(i)};
    if (i == 4100) e.edges = {{1, 2}, {3, 4}};
    packed.add(e);
  }
  packed.finish();
  const PackedExamples other(packed.share());
  for (const PackedExamples* examples : {&std::as_const(packed), &other}) {
    ASSERT_EQ(examples->size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Example e = examples->get(i);
      ASSERT_EQ(e.ids, all[i].ids);
      ASSERT_EQ(e.targets, all[i].targets);
      ASSERT_EQ(e.features, all[i].features);
      ASSERT_EQ(e.values, all[i].values);
      ASSERT_EQ(e.edges, all[i].edges);
      ASSERT_EQ(examples->length(i, {.input = InputKind::tokens}), e.ids.size());
      ASSERT_EQ(examples->length(i, {.input = InputKind::vectors, .features = 2}),
                e.features.size() / 2);
    }
  }
}

}  // namespace
}  // namespace xgrad
