#include <gtest/gtest.h>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/tables/packed_examples.hpp>

namespace xgrad {
namespace {

TEST(PackedExamples, GiveBackWhatCame) {
  const Rng rng(17);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return rng.below(bound, drawn++); };
  PackedExamples packed;
  std::vector<Example> all;
  for (int i = 0; i < 5000; ++i) {
    Example& e = all.emplace_back();
    for (auto n = below(4); n > 0; --n) e.ids.push_back(std::int32_t(below(9)));
    for (auto n = below(3); n > 0; --n) e.targets.push_back(-std::int32_t(below(9)));
    if (i % 7 == 6) e.features = {float(i), -1};
    if (i > 3000 && i % 2 == 0) e.values = {float(i)};
    if (i == 4100) e.edges = {{1, 2}, {3, 4}};
    packed.add(e);
  }
  ASSERT_EQ(packed.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Example e = packed.get(i);
    EXPECT_EQ(e.ids, all[i].ids);
    EXPECT_EQ(e.targets, all[i].targets);
    EXPECT_EQ(e.features, all[i].features);
    EXPECT_EQ(e.values, all[i].values);
    EXPECT_EQ(e.edges, all[i].edges);
  }
}

}  // namespace
}  // namespace xgrad
