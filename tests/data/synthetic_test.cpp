// Every made-up task against answers computed apart from it, and the promises of its three splits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/task.hpp>

#include "data/oracles.hpp"

namespace xgrad {
namespace {

constexpr std::array<Split, 3> kSplits = {Split::train, Split::validation, Split::test};

class MadeTasks : public testing::TestWithParam<OracleRow> {
 protected:
  const OracleRow& row_ = GetParam();

  std::unique_ptr<Task> make(const Options& options, std::uint64_t seed = 1) const {
    return find_task(row_.name).make(options, seed);
  }
  Tokens answer(const Tokens& ids, const Options& options) const {
    return row_.answer(ids, complete(find_task(row_.name).options, options));
  }
};

TEST_P(MadeTasks, LabelsAgreeWithTheOracle) {
  const auto task = make(row_.varied);
  const TaskShape shape = task->shape();
  std::set<std::int32_t> classes;
  for (Split split : kSplits) {
    const auto dataset = task->dataset(split);
    for (std::size_t i = 0; i < std::min<std::size_t>(5000, dataset->size()); ++i) {
      const Example example = dataset->get(0, i);
      ASSERT_NO_THROW(check_example(example, shape, i));
      ASSERT_FALSE(example.targets.empty());
      for (std::int32_t target : example.targets) classes.insert(target);
      if (row_.answer) {
        ASSERT_EQ(example.targets, answer(example.ids, row_.varied))
            << to_string(split) << " " << i << ": " << input_text(example, shape);
      }
    }
  }
  classes.erase(kIgnore);
  EXPECT_EQ(classes.size(), shape.classes) << "a class that never occurs";
}

TEST_P(MadeTasks, SplitsAreDisjointForAnySeeds) {
  std::map<Tokens, Split> seen;
  for (std::uint64_t seed : {1, 2, 3}) {
    const auto task = make(row_.few, seed);
    for (Split split : kSplits) {
      const auto dataset = task->dataset(split);
      ASSERT_GT(dataset->size(), 0);
      for (std::size_t i = 0; i < dataset->size(); ++i) {
        const auto [at, is_new] = seen.try_emplace(dataset->get(0, i).ids, split);
        ASSERT_EQ(at->second, split) << "in two splits; seed " << seed;
      }
    }
  }
  // Most of the inputs there are came up, so the test met nearly every chance to leak.
  EXPECT_GE(seen.size(), row_.met);
}

TEST_P(MadeTasks, ExamplesAreAFunctionOfSeedSplitAndIndex) {
  const auto dataset = make({})->dataset(Split::train);
  const auto again = make({})->dataset(Split::train);
  const auto other = make({}, 2)->dataset(Split::train);
  const auto validation = make({})->dataset(Split::validation);
  std::set<Tokens> different;
  int same_as_other = 0;
  for (std::size_t i = 500; i-- > 0;) {  // another order of access than the tests above
    const Example example = dataset->get(0, i);
    EXPECT_EQ(example.ids, again->get(7, i).ids) << "the epoch must not matter";
    EXPECT_EQ(example.targets, again->get(7, i).targets);
    same_as_other += example.ids == other->get(0, i).ids;
    same_as_other += example.ids == validation->get(0, i).ids;
    different.insert(example.ids);
  }
  EXPECT_LE(same_as_other, 5);
  EXPECT_GE(different.size(), 450);
}

TEST_P(MadeTasks, HaveTheSizesAskedFor) {
  Options options = row_.varied;
  const std::vector<OptionSpec>& table = find_task(row_.name).options;
  const auto has = [&](const char* key) {
    return std::any_of(table.begin(), table.end(), [&](const auto& s) { return s.name == key; });
  };
  std::size_t size = 10;
  for (const char* key : {"examples", "validation", "test"}) {
    if (has(key)) options[key] = std::int64_t(size);
    const Split split = kSplits[size / 10 - 1];
    if (has(key)) {
      EXPECT_EQ(make(options)->dataset(split)->size(), size);
    }
    size += 10;
  }
}

TEST_P(MadeTasks, NamesAreOneAClassAndOneAToken) {
  const TaskShape shape = make(row_.varied)->shape();
  EXPECT_EQ(shape.input, InputKind::tokens);
  for (const auto& [names, count] :
       {std::pair(shape.class_names, shape.classes), {shape.token_names, shape.vocabulary}}) {
    EXPECT_GT(count, 1);
    if (names.empty()) continue;
    EXPECT_EQ(names.size(), count);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), count) << "a name twice";
    for (const std::string& name : names) {
      EXPECT_FALSE(name.empty());
      EXPECT_EQ(name.find_first_of(" \t\n"), std::string::npos);
    }
  }
}

TEST_P(MadeTasks, ReadALineAsTheyAreWritten) {
  const auto task = make(row_.varied);
  const TaskShape shape = task->shape();
  const auto dataset = task->dataset(Split::train);
  for (std::size_t i = 0; i < 100; ++i) {
    const Example example = dataset->get(0, i);
    const Example read = task->parse("  " + input_text(example, shape) + "\t");
    ASSERT_EQ(read.ids, example.ids);
    if (row_.answer) {
      ASSERT_EQ(read.targets, example.targets);
    }
  }
}

TEST_P(MadeTasks, ErrorsOfALineNameTheTask) {
  const auto task = make(row_.varied);
  const auto error_of = [&](const std::string& line) -> std::string {
    try {
      task->parse(line);
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error_of(row_.bad_line), row_.name + ": " + row_.complaint);
  EXPECT_EQ(error_of(" "), row_.name + ": the line has no tokens");
  Example example = task->dataset(Split::train)->get(0, 0);
  example.ids.resize(task->shape().max_length + 1, example.ids[0]);
  EXPECT_NE(error_of(input_text(example, task->shape())).find("tokens, the longest sequence has "),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, MadeTasks, testing::ValuesIn(oracle_rows()),
                         [](const auto& row) { return row.param.name; });

TEST(MadeTasksTable, EveryTaskWithoutFilesHasAnOracle) {
  std::set<std::string> with_oracle;
  for (const OracleRow& row : oracle_rows()) with_oracle.insert(row.name);
  for (const TaskEntry& entry : tasks()) {
    const bool is_made = entry.debian_packages.empty() && entry.name != "one_digit" &&
                         entry.make({}, 1)->shape().input == InputKind::tokens;
    EXPECT_EQ(with_oracle.contains(entry.name), is_made) << entry.name;
  }
}

TEST(Splits, ATenthOfInputsIsForTestAndATenthForValidation) {
  std::map<Split, int> counts;
  for (std::int32_t a = 0; a < 100; ++a) {
    for (std::int32_t b = 0; b < 100; ++b) ++counts[split_of({a, b, 3})];
  }
  EXPECT_NEAR(counts[Split::test], 1000, 150);
  EXPECT_NEAR(counts[Split::validation], 1000, 150);
}

// A change of the hash would move inputs from test to train under a saved model. Letters: tRain,
// vAlidation, tEst.
TEST(Splits, TheSplitOfAnInputNeverChanges) {
  std::string splits;
  for (std::int32_t a = 0; a < 40; ++a) splits += to_string(split_of({a, 1, 2, 3, 4}))[1];
  EXPECT_EQ(splits, "rrerrrarrrarrrrrrrarrrrrrrrrrrrrarrrarrr");
}

// Nothing must be drawn from an input that no split but one has.
TEST(Synthetic, ASplitWithoutInputsIsAnError) {
  const auto describe = [](const Options&) {
    Synthetic task;
    task.shape.vocabulary = task.shape.classes = task.shape.max_length = 2;
    task.draw = [](const Rng&) { return Example{{0, 1}, {}, {}}; };
    task.solve = [](const Tokens& ids) { return ids; };
    return task;
  };
  const auto task = synthetic_task("lone", "", "", {}, describe).make({}, 1);
  int thrown = 0;
  for (Split split : kSplits) {
    try {
      task->dataset(split);
    } catch (const ConfigError& error) {
      ++thrown;
      EXPECT_EQ(std::string(error.what()).find("lone: none of 1000 inputs belonged to the "), 0);
    }
  }
  EXPECT_EQ(thrown, 2);
}

}  // namespace
}  // namespace xgrad
