// Every generated task against answers computed apart from it, and the promises of its splits.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/task.hpp>

#include "data/synthetic/oracles.hpp"

namespace xgrad {
namespace {

constexpr std::array<Split, 3> kSplits = {Split::train, Split::validation, Split::test};

class MadeTasks : public testing::TestWithParam<OracleRow> {
 protected:
  const OracleRow& row_ = GetParam();

  std::unique_ptr<Task> make(const Options& options, std::uint64_t seed = 1) const {
    return find_task(row_.name).make(options, seed);
  }
  bool has_answer() const { return row_.answer != nullptr || row_.answer_to != nullptr; }
  Tokens answer(const Example& input, const Options& options) const {
    const Options all = complete(find_task(row_.name).options, options);
    return row_.answer != nullptr ? row_.answer(input.ids, all) : row_.answer_to(input, all);
  }
};

using Input = std::tuple<Tokens, std::vector<float>, Edges>;

Input input_of(const Example& example) {
  return {example.ids, example.features, example.edges};
}

// As a user would type it.
std::string line_of(const Example& example, TaskShape shape) {
  if (shape.input != InputKind::image) return input_text(example, shape);
  shape.input = InputKind::vectors;
  shape.features = example.features.size();
  return input_text(example, shape);
}

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
      if (has_answer()) {
        ASSERT_EQ(example.targets, answer(example, row_.varied))
            << to_string(split) << " " << i << ": " << input_text(example, shape);
      }
    }
  }
  classes.erase(kIgnore);
  EXPECT_EQ(classes.size(), shape.classes) << "a class that never occurs";
}

TEST_P(MadeTasks, SplitsAreDisjointForAnySeeds) {
  std::map<Input, Split> seen;
  for (std::uint64_t seed : {1, 2, 3}) {
    const auto task = make(row_.few, seed);
    for (Split split : kSplits) {
      const auto dataset = task->dataset(split);
      ASSERT_GT(dataset->size(), 0);
      for (std::size_t i = 0; i < dataset->size(); ++i) {
        const auto [at, is_new] = seen.try_emplace(input_of(dataset->get(0, i)), split);
        ASSERT_EQ(at->second, split) << "in two splits; seed " << seed;
      }
    }
  }
  // Most of the inputs there are came up, so the test met nearly every chance to leak.
  EXPECT_GE(seen.size(), row_.met);
}

// A task says that inputs determine answers exactly if no input comes up with two of them.
TEST_P(MadeTasks, DeterminedMeansOneAnswerForEachInput) {
  const auto task = make(row_.few);
  if (task->shape().input != InputKind::tokens) return;  // no two inputs are equal
  const auto dataset = task->dataset(Split::train);
  std::map<Input, Tokens> answers;
  bool differ = false;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    const Example example = dataset->get(0, i);
    const auto at = answers.try_emplace(input_of(example), example.targets).first;
    differ = differ || at->second != example.targets;
  }
  EXPECT_EQ(find_task(row_.name).best == kCertain, !differ);
}

TEST_P(MadeTasks, ExamplesAreAFunctionOfSeedSplitAndIndex) {
  const auto dataset = make({})->dataset(Split::train);
  const auto again = make({})->dataset(Split::train);
  const auto other = make({}, 2)->dataset(Split::train);
  const auto validation = make({})->dataset(Split::validation);
  std::set<Input> different;
  int same_as_other = 0;
  for (std::size_t i = 500; i-- > 0;) {  // another order of access than the tests above
    const Example example = dataset->get(0, i);
    EXPECT_EQ(input_of(example), input_of(again->get(7, i))) << "the epoch must not matter";
    EXPECT_EQ(example.targets, again->get(7, i).targets);
    same_as_other += input_of(example) == input_of(other->get(0, i));
    same_as_other += input_of(example) == input_of(validation->get(0, i));
    different.insert(input_of(example));
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
  EXPECT_GT(shape.classes, 1);
  EXPECT_EQ(shape.vocabulary > 1, shape.input == InputKind::tokens);
  for (const auto& [names, count] :
       {std::pair(shape.class_names, shape.classes), {shape.token_names, shape.vocabulary}}) {
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
    const Example read = task->parse("  " + line_of(example, shape) + "\t");
    ASSERT_EQ(input_of(read), input_of(example));
    if (row_.answer) {
      ASSERT_EQ(read.targets, example.targets);
    }
  }
}

TEST_P(MadeTasks, ErrorsOfALineNameTheTask) {
  const auto task = make(row_.varied);
  const auto error_of = [&](const std::string& line) -> std::string {
    return test::message_of<DataError>([&] { task->parse(line); });
  };
  EXPECT_EQ(error_of(row_.bad_line), row_.name + ": " + row_.complaint);
  const TaskShape shape = task->shape();
  const std::string kind = shape.input == InputKind::tokens ? "tokens" : "numbers";
  EXPECT_EQ(error_of(" "), row_.name + ": the line has no " + kind);
  if (shape.input != InputKind::tokens) return;
  Example example = task->dataset(Split::train)->get(0, 0);
  example.ids.resize(shape.max_length + 1, example.ids[0]);
  EXPECT_NE(error_of(input_text(example, shape)).find("tokens, must have at most "),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, MadeTasks, testing::ValuesIn(oracle_rows()),
                         [](const auto& row) { return row.param.name; });

TEST(MadeTasksTable, EveryTaskWithoutFilesHasAnOracle) {
  const std::set<std::string> signals = {"ar2", "linear_regression", "mean_of_marked",
                                         "next_value"};
  std::set<std::string> with_oracle;
  for (const OracleRow& row : oracle_rows()) with_oracle.insert(row.name);
  for (const TaskEntry& entry : tasks()) {
    // Those on signals are tested in tasks/signals; files has no data of its own.
    const bool is_made = entry.debian_packages.empty() && entry.name != "one_digit" &&
                         entry.name != "files" && !signals.contains(entry.name);
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

// Graphs that differ in their edges alone, and vectors, fall to splits like tokens do.
TEST(Splits, DependOnAllOfAnInput) {
  std::map<Split, int> by_edge, by_number;
  for (std::int32_t i = 0; i < 1000; ++i) {
    ++by_edge[split_of(Example{.ids = {1, 2, 3}, .edges = {{0, i}}})];
    ++by_number[split_of(Example{.features = {0.25f, float(i)}})];
  }
  for (const auto& counts : {by_edge, by_number}) {
    ASSERT_EQ(counts.size(), 3u);
    EXPECT_NEAR(counts.at(Split::test), 100, 40);
  }
  EXPECT_EQ(split_of(Example{.ids = {7, 1, 2, 3, 4}}), split_of({7, 1, 2, 3, 4}));
}

// A change of the hash would move inputs from test to train under a saved model. Letters: tRain,
// vAlidation, tEst.
TEST(Splits, TheSplitOfAnInputNeverChanges) {
  std::string splits;
  for (std::int32_t a = 0; a < 40; ++a) splits += to_string(split_of({a, 1, 2, 3, 4}))[1];
  EXPECT_EQ(splits, "rrerrrarrrarrrrrrrarrrrrrrrrrrrrarrrarrr");
}

// To see what a model makes of sequences longer than any it was trained on.
TEST(Synthetic, TestSequencesMayBeLongerThanAllOthers) {
  const Options lengths = {{"length", 8}, {"min_length", 5}, {"test_length", 12}};
  for (const char* name : {"sort", "histogram", "markov", "neighbours"}) {
    const auto task = find_task(name).make(lengths, 1);
    EXPECT_EQ(task->shape().max_length, 12u);
    for (Split split : kSplits) {
      const auto dataset = task->dataset(split);
      std::set<std::size_t> seen;
      for (std::size_t i = 0; i < 200; ++i) {
        const Example example = dataset->get(0, i);
        seen.insert(example.ids.size());
        ASSERT_NO_THROW(check_example(example, task->shape(), i));
      }
      EXPECT_EQ(seen, split == Split::test ? (std::set<std::size_t>{9, 10, 11, 12})
                                           : (std::set<std::size_t>{5, 6, 7, 8}));
    }
  }
  EXPECT_THROW(find_task("sort").make({{"length", 8}, {"test_length", 8}}, 1), ConfigError);
}

// Nothing must be drawn from an input that no split but one has.
// How often each token comes tells most of a majority and little of a parity.
TEST(Synthetic, AClassForASequenceOfTokensIsHeldAgainstNaiveBayes) {
  const auto rules = [](const char* name) {
    return find_task(name).make({{"examples", std::int64_t(2000)}}, 1)->rules();
  };
  EXPECT_GT(rules("majority").at(0).accuracy, 0.9);
  EXPECT_LT(rules("parity").at(0).accuracy, 0.7);
  for (const char* name : {"reverse", "ar2", "shapes", "distinct"}) {
    EXPECT_TRUE(rules(name).empty()) << name;
  }
}

TEST(Synthetic, ASplitWithoutInputsIsAnError) {
  const auto describe = [](const Options&, Synthetic& task) {
    task.shape.vocabulary = task.shape.classes = task.shape.max_length = 2;
    task.draw = [](const Rng&) { return Example{{0, 1}, {}, {}}; };
    task.solve = [](const Tokens& ids) { return ids; };
  };
  const auto task = synthetic_task({"lone", "Of a test."}, describe).make({}, 1);
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
