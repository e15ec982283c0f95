// Copy, reverse and sort against answers computed here, and the promises of their three splits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/data/token_task.hpp>

namespace xgrad {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::array<Split, 3> kSplits = {Split::train, Split::validation, Split::test};

std::unique_ptr<Task> make(const std::string& name, Options options = {}, std::uint64_t seed = 1) {
  return find_task(name).make(options, seed);
}

/// The answer, written differently from the tasks' own.
Tokens answer(const std::string& name, const Tokens& ids) {
  if (name == "copy") return ids;
  Tokens result;
  if (name == "reverse") {
    for (std::size_t i = 0; i < ids.size(); ++i) result.push_back(ids[ids.size() - 1 - i]);
    return result;
  }
  std::map<std::int32_t, int> counts;  // counting sort
  for (std::int32_t id : ids) ++counts[id];
  for (const auto& [id, count] : counts) result.insert(result.end(), count, id);
  return result;
}

class TokenTasks : public testing::TestWithParam<const char*> {};

TEST_P(TokenTasks, LabelsAgreeWithTheOracle) {
  const auto task = make(GetParam(), {{"min_length", 1}, {"length", 12}, {"symbols", 7}});
  const TaskShape shape = task->shape();
  for (Split split : kSplits) {
    const auto dataset = task->dataset(split);
    for (std::size_t i = 0; i < std::min<std::size_t>(5000, dataset->size()); ++i) {
      const Example example = dataset->get(0, i);
      ASSERT_EQ(example.targets, answer(GetParam(), example.ids)) << to_string(split) << " " << i;
      ASSERT_NO_THROW(check_example(example, shape, i));
    }
  }
}

TEST_P(TokenTasks, SplitsAreDisjointForAnySeeds) {
  std::map<Tokens, Split> seen;
  for (std::uint64_t seed : {1, 2, 3}) {
    const Options options = {{"length", 5},       {"min_length", 3},    {"symbols", 6},
                             {"examples", 20000}, {"validation", 3000}, {"test", 3000}};
    const auto task = make(GetParam(), options, seed);
    for (Split split : kSplits) {
      const auto dataset = task->dataset(split);
      for (std::size_t i = 0; i < dataset->size(); ++i) {
        const auto [at, is_new] = seen.try_emplace(dataset->get(0, i).ids, split);
        ASSERT_EQ(at->second, split) << "in two splits; seed " << seed;
      }
    }
  }
  // Most of the 216 + 1296 + 7776 inputs came up, so the test met nearly every chance to leak.
  EXPECT_GT(seen.size(), 8000);
}

TEST_P(TokenTasks, ExamplesAreAFunctionOfSeedSplitAndIndex) {
  const auto dataset = make(GetParam())->dataset(Split::train);
  const auto again = make(GetParam())->dataset(Split::train);
  const auto other = make(GetParam(), {}, 2)->dataset(Split::train);
  const auto validation = make(GetParam())->dataset(Split::validation);
  int same_as_other = 0;
  for (std::size_t i = 500; i-- > 0;) {  // another order of access than the tests above
    const Example example = dataset->get(0, i);
    EXPECT_EQ(example.ids, again->get(7, i).ids) << "the epoch must not matter";
    EXPECT_EQ(example.targets, again->get(7, i).targets);
    same_as_other += example.ids == other->get(0, i).ids;
    same_as_other += example.ids == validation->get(0, i).ids;
  }
  EXPECT_EQ(same_as_other, 0);
}

TEST_P(TokenTasks, SizesAndShape) {
  const auto task =
      make(GetParam(),
           {{"examples", 10}, {"validation", 20}, {"test", 30}, {"length", 9}, {"symbols", 11}});
  EXPECT_EQ(task->dataset(Split::train)->size(), 10);
  EXPECT_EQ(task->dataset(Split::validation)->size(), 20);
  EXPECT_EQ(task->dataset(Split::test)->size(), 30);
  const TaskShape shape = task->shape();
  EXPECT_EQ(shape.input, InputKind::tokens);
  EXPECT_EQ(shape.output, OutputKind::tokens);
  EXPECT_EQ(shape.vocabulary, 11);
  EXPECT_EQ(shape.classes, 11);
  EXPECT_EQ(shape.max_length, 9);
}

TEST_P(TokenTasks, ParsesALine) {
  const auto task = make(GetParam());
  const Example example = task->parse("  3 1\t4  1 ");
  EXPECT_EQ(example.ids, (Tokens{3, 1, 4, 1}));
  EXPECT_EQ(example.targets, answer(GetParam(), {3, 1, 4, 1}));
}

TEST_P(TokenTasks, ParseErrorsNameTheToken) {
  const auto task = make(GetParam(), {{"length", 4}});
  const auto error_of = [&](const std::string& line) -> std::string {
    try {
      task->parse(line);
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  const std::string name = GetParam();
  EXPECT_EQ(error_of("3 x"), name + ": token 2 is \"x\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("10"), name + ": token 1 is \"10\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("1 -1"), name + ": token 2 is \"-1\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("1 2.5"), name + ": token 2 is \"2.5\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("99999999999"),
            name + ": token 1 is \"99999999999\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of(" "), name + ": the line has no tokens");
  EXPECT_EQ(error_of("1 2 3 4 5"), name + ": the line has 5 tokens, the longest sequence has 4");
}

TEST_P(TokenTasks, OptionsThatCannotBeAreErrors) {
  EXPECT_THROW(make(GetParam(), {{"length", 0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"symbols", 0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"lenght", 4}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"length", 4.0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"length", 4}, {"min_length", 5}}), ConfigError);
}

TEST_P(TokenTasks, TooFewInputsForThreeSplitsIsAnError) {
  const auto with = [&](int length, int min_length, int symbols) {
    return make(GetParam(), {{"length", length}, {"min_length", min_length}, {"symbols", symbols}});
  };
  try {
    with(3, 0, 9);
    FAIL() << "no exception";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), (std::string(GetParam()) +
                                ": there are only 729 different inputs; three disjoint splits need "
                                "1000: raise length or symbols")
                                   .c_str());
  }
  EXPECT_NO_THROW(with(3, 0, 10));
  EXPECT_THROW(with(9, 9, 2), ConfigError);    // 512
  EXPECT_NO_THROW(with(9, 1, 2));              // 1022
  EXPECT_THROW(with(999, 1, 1), ConfigError);  // one of each length
  EXPECT_NO_THROW(with(65536, 65536, 1 << 24));
}

INSTANTIATE_TEST_SUITE_P(All, TokenTasks, testing::Values("copy", "reverse", "sort"),
                         [](const auto& row) { return std::string(row.param); });

TEST(TokenTask, TokensAndLengthsAreUniform) {
  const auto task = make("copy", {{"length", 8}, {"min_length", 5}, {"symbols", 5}});
  const auto dataset = task->dataset(Split::train);
  std::map<std::size_t, double> lengths, tokens;
  double count = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    const Example example = dataset->get(0, i);
    lengths[example.ids.size()] += 1;
    for (std::int32_t id : example.ids) tokens[id] += 1, count += 1;
  }
  ASSERT_EQ(lengths.size(), 4);
  ASSERT_EQ(lengths.begin()->first, 5);
  ASSERT_EQ(tokens.size(), 5);
  // Five standard deviations of a binomial count.
  for (const auto& [length, n] : lengths) EXPECT_NEAR(n, 5000, 5 * 61.3) << "length " << length;
  for (const auto& [id, n] : tokens) EXPECT_NEAR(n / count, 0.2, 5 * 0.4 / std::sqrt(count)) << id;
}

TEST(TokenTask, ATenthOfInputsIsForTestAndATenthForValidation) {
  std::map<Split, int> counts;
  for (std::int32_t a = 0; a < 100; ++a) {
    for (std::int32_t b = 0; b < 100; ++b) ++counts[split_of({a, b, 3})];
  }
  EXPECT_NEAR(counts[Split::test], 1000, 150);
  EXPECT_NEAR(counts[Split::validation], 1000, 150);
}

// A change of the hash would move inputs from test to train under a saved model. Letters: tRain,
// vAlidation, tEst.
TEST(TokenTask, TheSplitOfAnInputNeverChanges) {
  std::string splits;
  for (std::int32_t a = 0; a < 40; ++a) splits += to_string(split_of({a, 1, 2, 3, 4}))[1];
  EXPECT_EQ(splits, "rrerrrarrrarrrrrrrarrrrrrrrrrrrrarrrarrr");
}

}  // namespace
}  // namespace xgrad
