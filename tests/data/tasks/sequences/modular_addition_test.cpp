#include <gtest/gtest.h>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {
namespace {

TEST(ModularAddition, EveryPairIsInOneSplitOnce) {
  std::set<Tokens> seen;
  std::size_t sum = 0;
  const auto task = find_task("modular_addition").make({{"modulus", 97}}, 5);
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = task->dataset(split);
    sum += dataset->size();
    EXPECT_GE(dataset->size(), 97 * 97 / 12) << to_string(split);
    for (std::size_t i = 0; i < dataset->size(); ++i) {
      const Example example = dataset->get(0, i);
      EXPECT_EQ(split_of(example.ids), split);
      seen.insert(example.ids);
    }
  }
  EXPECT_EQ(sum, 97 * 97);
  EXPECT_EQ(seen.size(), 97 * 97);
}

TEST(ModularAddition, FewerExamplesAreThoseTheSeedChooses) {
  const auto chosen = [](std::int64_t examples, std::uint64_t seed) {
    const auto dataset =
        find_task("modular_addition").make({{"examples", examples}}, seed)->dataset(Split::train);
    std::set<Tokens> ids;
    for (std::size_t i = 0; i < dataset->size(); ++i) ids.insert(dataset->get(0, i).ids);
    return ids;
  };
  EXPECT_EQ(chosen(300, 1).size(), 300);
  EXPECT_EQ(chosen(300, 1), chosen(300, 1));
  EXPECT_NE(chosen(300, 1), chosen(300, 2));
  EXPECT_EQ(chosen(0, 1), chosen(0, 2));
  EXPECT_THROW(chosen(9409, 1), ConfigError);
}

TEST(ModularAddition, RefusesWhatIsNoSum) {
  const auto task = find_task("modular_addition").make({}, 1);
  EXPECT_EQ(task->parse("90 10 =").targets, Tokens{3});
  for (const char* line : {"1 2", "1 2 3", "= 1 2", "1 = ="}) {
    EXPECT_THROW(task->parse(line), DataError) << line;
  }
}

}  // namespace
}  // namespace xgrad
