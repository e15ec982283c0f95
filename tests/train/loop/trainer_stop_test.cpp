// I4: a stop inside an evaluation, and what goes on from there; saves beside those at their
// interval.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {
namespace {

// Three batches to validate, with all that a validation changes; patience ends the run.
Config config_with(const std::vector<std::string>& overrides = {}) {
  return parse_config(R"(
    task = {name = "reverse", length = 4, validation = 24, test = 24}
    model = {width = 8, heads = 2, layers = 1}
    optim.lr = 0.4
    schedule = {name = "plateau", patience = 1, warmup = 3, gamma = 0.5}
    train = {steps = 40, batch = 8, accumulate = 2, ema = 0.8, patience = 2, evaluate_every = 2}
  )",
                      "small.toml", overrides);
}
constexpr std::size_t kBatches = 3;

// Remembers what a run did, and breaks off its evaluations once they have asked so often.
struct Diary final : TrainerHooks {
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override {
    rows.push_back(to_json(metrics_row(step, "validation", metrics)));
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  bool stop() override { return breaking(); }
  bool break_off() override {
    ++asked;
    return breaking();
  }
  bool breaking() const { return asked > most; }

  std::vector<std::string> rows;
  std::vector<Checkpoint> saves;
  std::size_t asked = 0, most = std::size_t(-1);
};

bool owes(const Checkpoint& checkpoint) {
  return checkpoint.state.contains(kOwesValidation);
}

// From the bytes of a checkpoint alone, as another process would.
Diary go_on(const Checkpoint& from, const Config& config, std::size_t most = std::size_t(-1)) {
  Trainer<float> trainer(config);
  trainer.restore(from_hdf5(to_hdf5(from), "memory"));
  Diary diary;
  diary.most = most;
  trainer.run(diary);
  return diary;
}

// Stops a run at each batch of each validation, the last included.
TEST(TrainerStop, InsideAnyValidationTheBitsStayTheSame) {
  const Config config = config_with();
  Trainer<float> whole(config);
  Diary diary;
  whole.run(diary);
  ASSERT_TRUE(whole.out_of_patience());
  ASSERT_EQ(diary.asked, kBatches * diary.rows.size());
  for (const Checkpoint& save : diary.saves) EXPECT_FALSE(owes(save)) << save.step;
  const std::string last = to_hdf5(whole.capture());

  for (std::size_t at = 0; at < diary.asked; ++at) {
    Trainer<float> first(config);
    Diary stopped;
    stopped.most = at;
    first.run(stopped);
    const std::size_t done = at / kBatches;
    ASSERT_EQ(first.step(), 2 * (done + 1)) << at;
    EXPECT_FALSE(first.finished());
    EXPECT_EQ(stopped.rows, std::vector(diary.rows.begin(), diary.rows.begin() + long(done)));
    ASSERT_EQ(stopped.saves.back().step, first.step());
    ASSERT_TRUE(owes(stopped.saves.back()));

    // Broken off once more, it is as it was.
    const Diary again = go_on(stopped.saves.back(), config, at % kBatches);
    ASSERT_EQ(again.saves.size(), 1u);
    EXPECT_EQ(to_hdf5(again.saves.back()), to_hdf5(stopped.saves.back()));

    const Diary rest = go_on(again.saves.back(), config);
    EXPECT_EQ(rest.saves.front().step, first.step()) << "saved again when it owes nothing more";
    for (const Checkpoint& save : rest.saves) EXPECT_FALSE(owes(save)) << save.step;
    ASSERT_EQ(to_hdf5(rest.saves.back()), last) << "stopped at batch " << at;
    EXPECT_EQ(rest.rows, std::vector(diary.rows.begin() + long(done), diary.rows.end()));
  }
}

// Nothing of it reaches the state: but for the mark it is that of the step without a validation.
TEST(TrainerStop, AValidationBrokenOffCountsForNothing) {
  Trainer<float> trainer(config_with());
  Diary diary;
  diary.most = kBatches + 2;  // of the second validation
  trainer.run(diary);
  Checkpoint owing = trainer.capture();
  EXPECT_EQ(owing.state.erase(kOwesValidation), 1u);

  Trainer<float> other(config_with());
  other.restore(diary.saves.front());  // after the first validation
  ASSERT_EQ(other.step(), 2u);
  for (int step = 0; step < 2; ++step) other.train_step();
  EXPECT_EQ(to_hdf5(owing), to_hdf5(other.capture()));
}

TEST(TrainerStop, AnyEvaluationCanBeBrokenOff) {
  Trainer<float> trainer(config_with());
  for (int step = 0; step < 3; ++step) trainer.train_step();
  const std::string before = to_hdf5(trainer.capture());
  Diary diary;
  diary.most = 2;
  EXPECT_FALSE(trainer.evaluate(Split::test, diary));
  EXPECT_EQ(diary.asked, 3u);
  EXPECT_EQ(to_hdf5(trainer.capture()), before) << "the weights' means are back in their place";
  diary.most = 100;
  EXPECT_EQ(trainer.evaluate(Split::test, diary)->loss.mean(),
            trainer.evaluate(Split::test).loss.mean());
}

TEST(TrainerStop, TheBestIsSavedWhateverTheInterval) {
  Trainer<float> trainer(config_with({"train.evaluate_every=3", "train.save_every=7"}));
  Diary diary;
  trainer.run(diary);
  std::vector<std::uint64_t> saved, expected;
  for (const Checkpoint& save : diary.saves) saved.push_back(save.step);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t step = 1; step <= trainer.step(); ++step) {
    bool due = step % 7 == 0 || step == trainer.step();
    if (step % 3 == 0) {
      const double loss = *read_row(diary.rows.at(step / 3 - 1))->number("loss");
      due = due || loss < best;
      best = std::min(best, loss);
    }
    if (due) expected.push_back(step);
  }
  EXPECT_EQ(saved, expected);
  EXPECT_EQ(std::count(saved.begin(), saved.end(),
                       std::uint64_t(state_value<std::int64_t>(trainer.capture(), "best_step"))),
            1);
  EXPECT_NE(std::uint64_t(state_value<std::int64_t>(trainer.capture(), "best_step")),
            trainer.step());
  EXPECT_NE(std::uint64_t(state_value<std::int64_t>(trainer.capture(), "best_step")) % 7, 0u);
}

}  // namespace
}  // namespace xgrad
