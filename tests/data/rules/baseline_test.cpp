#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/baseline.hpp>

#include "data/rules/listed_task.hpp"

namespace xgrad {
namespace {

using test::Examples;
using test::ListedTask;

TaskShape shape_of(OutputKind output) {
  return {.output = output, .vocabulary = 6, .max_length = 2, .classes = 3};
}

// Two answers: the first mostly yes, the second never.
class Answers final : public Task, public Dataset {
 public:
  TaskShape shape() const override {
    return {.output = OutputKind::sequence,
            .vocabulary = 4,
            .max_length = 2,
            .classes = 2,
            .target = TargetKind::binary};
  }
  std::unique_ptr<Dataset> dataset(Split) const override {
    return std::make_unique<Answers>(*this);
  }
  Example parse(const std::string&) const override { return {}; }
  std::size_t size() const override { return 4; }
  Example get(std::uint64_t, std::size_t index) const override {
    return {.ids = {1}, .values = {float(index > 0), index > 1 ? 0.0f : std::nanf("")}};
  }
};

TEST(Baseline, CountsTheMostFrequentAnswerToEach) {
  const Baseline baseline = measure_baseline(Answers());
  EXPECT_DOUBLE_EQ(baseline.majority.value(), 5.0 / 6);
  EXPECT_FALSE(baseline.own_token.has_value());
}

// In training token 3 has class 0 in three of four, token 1 always class 2, token 0 counts nothing;
// classes 0 and 2 come three times each.
const Examples kTrain = {{{3, 1}, {}, {0, 2}},
                         {{3, 1}, {}, {0, 2}},
                         {{3, 1}, {}, {1, 2}},
                         {{3, 0}, {}, {0, kIgnore}},
                         {{0, 0}, {}, {kIgnore, kIgnore}}};

TEST(Baseline, CountsInTrainingAndIsMeasuredOnTheTestSplit) {
  const Examples test = {{{3, 1}, {}, {0, 2}}, {{3, 1}, {}, {1, 2}}, {{3, 0}, {}, {kIgnore, 1}}};
  const Baseline found =
      measure_baseline(ListedTask(shape_of(OutputKind::tokens), kTrain, kTrain, test));
  EXPECT_DOUBLE_EQ(found.majority.value(), 1.0 / 5);
  EXPECT_DOUBLE_EQ(found.own_token.value(), 3.0 / 5) << "token 0 has the most frequent class";
  const Baseline of_one =
      measure_baseline(ListedTask(shape_of(OutputKind::tokens),
                                  {{{3, 1}, {}, {1, 1}}, {{3, 1}, {}, {2, 2}}}, kTrain, test),
                       1);
  EXPECT_DOUBLE_EQ(of_one.majority.value(), 2.0 / 5) << "the second is not counted";
}

// By the counts above, the token alone is right in 3 of 5 and every other baseline less often.
TEST(Baseline, TheBestIsTheHighestOfTheCountsAndTheRules) {
  const Examples test = {{{3, 1}, {}, {0, 2}}, {{3, 1}, {}, {1, 2}}, {{3, 0}, {}, {kIgnore, 1}}};
  const ListedTask task(shape_of(OutputKind::tokens), kTrain, kTrain, test);
  EXPECT_DOUBLE_EQ(best_baseline(task, {}), 3.0 / 5);
  EXPECT_DOUBLE_EQ(best_baseline(task, {{"worse", 0.5}}), 3.0 / 5);
  EXPECT_DOUBLE_EQ(best_baseline(task, {{"worse", 0.5}, {"better", 0.75}}), 0.75);
  const Examples classes = {{{1}, {}, {2}}, {{1}, {}, {2}}, {{1}, {}, {1}}};
  EXPECT_DOUBLE_EQ(
      best_baseline(ListedTask(shape_of(OutputKind::sequence), classes, classes, classes), {}),
      2.0 / 3);
}

TEST(Baseline, OfASequenceThereIsTheMostFrequentClass) {
  const Examples train = {{{1}, {}, {2}}, {{1}, {}, {2}}, {{1}, {}, {1}}};
  const Examples test = {{{1}, {}, {2}}, {{1}, {}, {1}}, {{1}, {}, {1}}, {{1}, {}, {1}}};
  const Baseline found =
      measure_baseline(ListedTask(shape_of(OutputKind::sequence), train, train, test));
  EXPECT_DOUBLE_EQ(found.majority.value(), 1.0 / 4);
  EXPECT_FALSE(found.own_token.has_value());
  EXPECT_FALSE(found.window.has_value());
}

// Token 5 has mostly class 2, but class 1 behind token 1. Whether that is to be believed is for the
// validation split to say.
TEST(Baseline, TheWindowIsAsWideAsIsBestOnTheValidationSplit) {
  const auto behind = [](std::int32_t token, std::int32_t target) {
    return Example{{token, 5}, {}, {kIgnore, target}};
  };
  const Examples train = {behind(1, 1), behind(2, 2), behind(3, 2)};
  const Examples test = {behind(1, 1), behind(4, 2)};  // 4 5 was never seen: so 5 alone
  const auto window = [&](std::int32_t of_validation) {
    const ListedTask task(shape_of(OutputKind::tokens), train, {behind(1, of_validation)}, test);
    const Baseline found = measure_baseline(task);
    EXPECT_DOUBLE_EQ(found.own_token.value(), 1.0 / 2);
    return found.window.value();
  };
  EXPECT_DOUBLE_EQ(window(1), 1);
  EXPECT_DOUBLE_EQ(window(2), 1.0 / 2);
}

TEST(Baseline, WhereNothingCountsThereIsNone) {
  const Examples nothing = {{{0}, {}, {kIgnore}}};
  const ListedTask task(shape_of(OutputKind::tokens), nothing, kTrain, kTrain);
  EXPECT_FALSE(measure_baseline(task).majority.has_value());
}

// Copying needs no context, reversing needs one that is wider than the window, and a hidden token
// of a Markov chain is told by those next to it.
TEST(Baseline, SaysWhichTasksNeedContext) {
  const auto baseline = [](const char* name) {
    return measure_baseline(
        *find_task(name).make({{"examples", 1000}, {"validation", 300}, {"test", 300}}, 1));
  };
  EXPECT_EQ(baseline("copy").own_token.value(), 1);
  EXPECT_EQ(baseline("copy").window.value(), 1);
  EXPECT_NEAR(baseline("reverse").own_token.value(), 0.1, 0.03);
  EXPECT_LT(baseline("reverse").window.value(), 0.2);
  const Baseline markov = baseline("markov");
  EXPECT_GT(markov.window.value(), 2 * markov.own_token.value());
}

}  // namespace
}  // namespace xgrad
