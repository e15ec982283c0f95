// S4.9, S4.10: what models without attention reach is what their view of the input allows, which
// can be worked out.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {
namespace {

RatioMean accuracy_of(const std::string& task, const std::string& model, std::uint64_t steps) {
  const Config config = parse_config(
      "[task]\ntest = 4000\nvalidation = 10\n" + task + "[model]\nwidth = 16\ndropout = 0.0\n" +
          model + "[optim]\nlr = 1e-2\n[train]\nbatch = 128\nsteps = " + std::to_string(steps) +
          "\n",
      "baseline.toml", {});
  Trainer<float> trainer(config);
  TrainerHooks nothing;
  trainer.run(nothing);
  return trainer.evaluate(Split::test).accuracy;
}

void expect_ceiling(const RatioMean& accuracy, double ceiling) {
  EXPECT_NEAR(accuracy.mean(), ceiling, 4 * accuracy.standard_error() + 1e-12);
}

// The answer to 0 or 1 is how often it stands among the other 13 fair bits: Binomial(13, 1/2),
// whose likeliest value has probability 1716/8192.
const std::string kHistogram = "name = 'histogram'\nlength = 14\nsymbols = 2\n";

TEST(Baselines, S4_9_AnMlpOnEachTokenReachesTheCeilingWithoutContext) {
  expect_ceiling(accuracy_of(kHistogram, "kind = 'mlp'\n", 150), 1716.0 / 8192);
}

TEST(Baselines, S4_9_AttentionGoesBeyondIt) {
  const RatioMean accuracy =
      accuracy_of(kHistogram, "layers = 1\nheads = 1\nattention_dropout = 0.0\n", 400);
  EXPECT_GT(accuracy.mean(), 1.5 * 1716 / 8192);
}

// Of 5 places only the middle one has its own answer; the others are one of 10 symbols elsewhere.
const std::string kReverse = "name = 'reverse'\nlength = 5\nsymbols = 10\n";
const double kMiddleAlone = (1 + 4 * 0.1) / 5;

TEST(Baselines, S4_10_AWindowFailsOnWhatLiesOutsideOfIt) {
  expect_ceiling(accuracy_of(kReverse, "kind = 'mlp'\n", 200), kMiddleAlone);
  expect_ceiling(accuracy_of(kReverse, "kind = 'window_mlp'\nwindow = 3\n", 200), kMiddleAlone);
}

// The answer of place n lies |4 - 2 n| away, so a window of 5 also holds those of places 1 and 3,
// and one of 9 holds all.
TEST(Baselines, S4_10_AWindowSolvesWhatLiesInsideOfIt) {
  const RatioMean five = accuracy_of(kReverse, "kind = 'window_mlp'\nwindow = 5\n", 300);
  expect_ceiling(five, (3 + 2 * 0.1) / 5);
  EXPECT_GT(accuracy_of(kReverse, "kind = 'window_mlp'\nwindow = 9\n", 300).mean(), 0.999);
}

}  // namespace
}  // namespace xgrad
