// The standard error of every figure against the jackknife (Efron & Tibshirani 1993, 11.5): leave
// out one sample at a time and see how the figure moves. It needs no formula of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <xgrad/train/metrics/metrics.hpp>

#include "support/tensors.hpp"
#include "train/metrics/figures.hpp"

namespace xgrad {
namespace {

constexpr std::size_t kSamples = 300, kAll = kSamples;  // leaving out sample kAll leaves out none

using Figures = std::vector<Figure>;

// `measure(i)` gives the figures of all samples but i.
void expect_jackknife(const std::function<Figures(std::size_t)>& measure, std::size_t count) {
  const Figures all = measure(kAll);
  ASSERT_EQ(all.size(), count);
  std::vector<Figures> without;
  for (std::size_t i = 0; i < kSamples; ++i) without.push_back(measure(i));
  for (std::size_t f = 0; f < count; ++f) {
    double mean = 0, squares = 0;
    for (const Figures& figures : without) mean += figures[f].value / kSamples;
    for (const Figures& figures : without) squares += std::pow(figures[f].value - mean, 2);
    const double expected = std::sqrt((kSamples - 1.0) / kSamples * squares);
    EXPECT_GT(expected, 0) << all[f].name;
    // The two differ by a part of 1/kSamples and by the curvature of the figure.
    EXPECT_NEAR(all[f].standard_error, expected, 0.02 * expected) << all[f].name;
  }
}

// One to five targets a sample, which share an error; the other places do not count.
struct Classes {
  Ids targets = test::random_ids({kSamples, 5}, Rng(1), 4);
  Tensor<double> logits = test::normal_tensor({kSamples, 5, 4}, Rng(2));

  Classes() {
    for (std::size_t s = 0; s < kSamples; ++s) {
      const double skill = 3 * Rng(3).uniform(s);
      for (std::size_t i = 0; i < 5; ++i) {
        logits(s, i, std::size_t(targets(s, i))) += skill;
        if (i > Rng(4).below(5, s)) targets(s, i) = kIgnore;
      }
    }
  }
  // Calls add(logits, targets) for every sample but one.
  template <class Add>
  void each_but(std::size_t left_out, const Add& add) const {
    for (std::size_t s = 0; s < kSamples; ++s) {
      if (s == left_out) continue;
      Ids own = empty<std::int32_t>({1, 5});
      Tensor<double> row = empty<double>({1, 5, 4});
      std::copy_n(targets.data() + s * 5, 5, own.data());
      std::copy_n(logits.data() + s * 20, 20, row.data());
      add(row, own);
    }
  }
};

TEST(Jackknife, OfLossAccuracyExactMatchAndPerplexity) {
  const Classes classes;
  expect_jackknife(
      [&](std::size_t i) {
        Metrics metrics;
        classes.each_but(i, [&](const auto& logits, const auto& own) { metrics.add(logits, own); });
        return metrics.figures();
      },
      4);
}

TEST(Jackknife, OfPrecisionRecallF1AndMacroF1) {
  const Classes classes;
  expect_jackknife(
      [&](std::size_t i) {
        ClassReport report(4);
        classes.each_but(i, [&](const auto& logits, const auto& own) { report.add(logits, own); });
        Figures figures = {report.macro_f1()};
        for (std::size_t c = 0; c < 4; ++c) {
          for (const RatioMean& mean : {report.precision(c), report.recall(c), report.f1(c)}) {
            figures.push_back(
                {"of class " + std::to_string(c), mean.mean(), mean.standard_error()});
          }
        }
        return figures;
      },
      13);
}

// Samples of two rows with three components, of which some have no target.
void expect_jackknife_of_values(const Objective& objective, const Tensor<double>& targets,
                                const Tensor<double>& outputs, std::size_t count) {
  const Mask valid = test::random_mask(targets.shape(), Rng(5));
  expect_jackknife(
      [&](std::size_t left_out) {
        Metrics metrics;
        for (std::size_t s = 0; s < kSamples; ++s) {
          if (s == left_out) continue;
          Tensor<double> own = empty<double>({1, 2, 3}), output = empty<double>({1, 2, 3});
          Mask known = empty<std::uint8_t>({1, 2, 3});
          std::copy_n(targets.data() + s * 6, 6, own.data());
          std::copy_n(outputs.data() + s * 6, 6, output.data());
          std::copy_n(valid.data() + s * 6, 6, known.data());
          Batch batch = test::batch_of(own);
          batch.valid = std::make_shared<const Mask>(known);
          metrics.add(output, batch, objective);
        }
        return metrics.figures();
      },
      count);
}

TEST(Jackknife, OfR2MaeAndRmse) {
  const Tensor<double> targets = test::normal_tensor({kSamples, 2, 3}, Rng(6)),
                       noise = test::normal_tensor({kSamples}, Rng(7));
  Tensor<double> outputs = targets;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs.data()[i] += 0.2 + 0.6 * noise.data()[i / 6] * (1 + double(i % 3));
  }
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::huber}) {
    expect_jackknife_of_values({loss}, targets, outputs, 4);
  }
}

TEST(Jackknife, OfYesAndNo) {
  const Tensor<double> outputs = test::normal_tensor({kSamples, 2, 3}, Rng(8));
  Tensor<double> targets = outputs;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets.data()[i] = targets.data()[i] + 2 * Rng(9).uniform(i / 3) > 0.8 ? 1 : 0;
  }
  expect_jackknife_of_values({Loss::binary_cross_entropy}, targets, outputs, 3);
}

}  // namespace
}  // namespace xgrad
