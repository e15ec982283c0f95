#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/baseline.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {
namespace {

class Fixed final : public Task, public Dataset {
 public:
  explicit Fixed(OutputKind output) : output_(output) {}
  TaskShape shape() const override {
    return {.output = output_, .vocabulary = 4, .max_length = 2, .classes = 3};
  }
  std::unique_ptr<Dataset> dataset(Split) const override { return std::make_unique<Fixed>(*this); }
  Example parse(const std::string&) const override { return {}; }
  std::size_t size() const override { return output_ == OutputKind::tokens ? 5 : 4; }
  Example get(std::uint64_t, std::size_t index) const override {
    if (output_ == OutputKind::sequence) return {{1}, {}, {index == 2 ? 1 : 2}};
    // Token 3 has class 0 in three of four, token 1 always class 2, token 0 counts nothing.
    const Example examples[] = {{{3, 1}, {}, {0, 2}},
                                {{3, 1}, {}, {0, 2}},
                                {{3, 1}, {}, {1, 2}},
                                {{3, 0}, {}, {0, kIgnore}},
                                {{0, 0}, {}, {kIgnore, kIgnore}}};
    return examples[index];
  }

 private:
  OutputKind output_;
};

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

TEST(Baseline, CountsTheMostFrequentClassAndThatOfEachToken) {
  const Baseline of_tokens = measure_baseline(Fixed(OutputKind::tokens));
  EXPECT_DOUBLE_EQ(of_tokens.majority.value(), 3.0 / 7);
  EXPECT_DOUBLE_EQ(of_tokens.own_token.value(), 6.0 / 7);
  const Baseline of_sequences = measure_baseline(Fixed(OutputKind::sequence));
  EXPECT_DOUBLE_EQ(of_sequences.majority.value(), 3.0 / 4);
  EXPECT_FALSE(of_sequences.own_token.has_value());
}

// Copying needs no context, reversing has none to use: a symbol is as likely as any other.
TEST(Baseline, SaysWhichTasksNeedContext) {
  const auto own_token = [](const char* name) {
    return measure_baseline(*find_task(name).make({}, 1)).own_token.value();
  };
  EXPECT_EQ(own_token("copy"), 1);
  EXPECT_NEAR(own_token("reverse"), 0.1, 0.02);
}

}  // namespace
}  // namespace xgrad
