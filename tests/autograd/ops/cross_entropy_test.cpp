#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Tensor<double> logits() {
  return tensor(
      {4, 4}, {1.0, 2.0, 3.0, 0.5, -1.0, 0.0, 2.0, 1.0, 0.3, -0.7, 0.1, 2.5, 4.0, -4.0, 0.0, 1.0});
}

Ids targets() {
  return tensor<std::int32_t>({4}, {2, 0, -100, 3});
}

struct Result {
  double loss;
  Tensor<double> gradient;
};

Result run(const Tensor<double>& x, const Ids& y, const CrossEntropyOptions& options = {}) {
  const Variable<double> leaf(x, true);
  const auto loss = cross_entropy(leaf, y, options);
  loss.backward();
  return {loss.value()(), leaf.grad()};
}

}  // namespace

TEST(CrossEntropy, S4_8_Golden) {
  const auto x = tensor({1, 3}, {1.0, 2.0, 3.0});
  const Ids y = full<std::int32_t>({1}, 2);
  EXPECT_NEAR(run(x, y).loss, worked_example("S4.8.cross_entropy")(0), 1e-10);
  EXPECT_NEAR(run(x, y, {.label_smoothing = 0.1}).loss, worked_example("S4.8.cross_entropy")(1),
              1e-10);
}

// Losses and gradients of torch.nn.functional.cross_entropy (1.13, float64).
TEST(CrossEntropy, S4_8_AsPyTorch) {
  const std::vector<double> weights{0.5, 1, 2, 1.5};
  const Result plain = run(logits(), targets());
  EXPECT_NEAR(plain.loss, 2.3223870385150582, 1e-15);
  EXPECT_NEAR(plain.gradient(0, 2), -0.1230681522508444, 1e-15);
  EXPECT_NEAR(plain.gradient(3, 3), -0.3178006708698155, 1e-15);
  const Result smooth = run(logits(), targets(), {.label_smoothing = 0.2});
  EXPECT_NEAR(smooth.loss, 2.3640537051817248, 1e-15);
  EXPECT_NEAR(smooth.gradient(0, 3), 0.0005929504331432686, 1e-15);
  const Result weighted = run(logits(), targets(), {.class_weights = weights});
  EXPECT_NEAR(weighted.loss, 1.810234679833748, 1e-15);
  EXPECT_NEAR(weighted.gradient(1, 0), -0.12099267458998937, 1e-15);
  const Result both = run(logits(), targets(), {.label_smoothing = 0.2, .class_weights = weights});
  EXPECT_NEAR(both.loss, 1.899260313588572, 1e-15);
  EXPECT_TENSOR_NEAR(
      both.gradient,
      tensor({4, 4},
             {0.033233113248277366, 0.09482622927378295, -0.13325706124804665, 0.005197718725986285,
              -0.1010404769669862, 0.0016609517955802954, 0.07963606723179553, 0.019743457939610406,
              0.0, 0.0, 0.0, 0.0, 0.333030278651208, -0.01238618414612817, -0.018785864934155367,
              -0.3018582295709244}),
      1e-15);
}

TEST(CrossEntropy, S4_5_IgnoredPositionsCountNothing) {
  const Result all = run(logits(), targets());
  auto changed = logits();
  for (std::size_t c = 0; c < 4; ++c) changed(2, c) = 1e300 * double(c);
  const Result other = run(changed, targets());
  EXPECT_EQ(all.loss, other.loss);
  EXPECT_TRUE(same_bits(all.gradient, other.gradient));
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(all.gradient(2, c), 0);
  Ids renamed = targets();
  renamed(2) = 1;
  renamed(0) = renamed(1) = renamed(3) = 2;
  EXPECT_NEAR(run(logits(), renamed, {.ignore_index = 2}).loss,
              run(tensor({1, 4}, {0.3, -0.7, 0.1, 2.5}), full<std::int32_t>({1}, 1)).loss, 1e-15);
}

TEST(CrossEntropy, S4_1_PaddingChangesNothing) {
  const Rng rng(11);
  const Tensor<double> x = random_tensor({2, 3, 4}, rng, -3, 3);
  const Ids y = random_ids({2, 3}, rng / "targets", 4);
  Tensor<double> wide = full<double>({2, 5, 4}, std::nan(""));
  Ids padded = full<std::int32_t>({2, 5}, -100);
  for (std::size_t b = 0; b < 2; ++b) {
    std::copy_n(x.data() + b * 12, 12, wide.data() + b * 20);
    std::copy_n(y.data() + b * 3, 3, padded.data() + b * 5);
  }
  for (const double smoothing : {0.0, 0.1}) {
    const Result alone = run(x, y, {.label_smoothing = smoothing});
    const Result both = run(wide, padded, {.label_smoothing = smoothing});
    EXPECT_NEAR(both.loss, alone.loss, 1e-12);
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t n = 0; n < 5; ++n) {
        for (std::size_t c = 0; c < 4; ++c) {
          EXPECT_NEAR(both.gradient(b, n, c), n < 3 ? alone.gradient(b, n, c) : 0, 1e-12);
        }
      }
    }
  }
}

TEST(CrossEntropy, S4_5_NothingCountsGivesZero) {
  for (const double smoothing : {0.0, 0.1}) {
    const Result r = run(logits(), full<std::int32_t>({4}, -100), {.label_smoothing = smoothing});
    EXPECT_EQ(r.loss, 0);
    EXPECT_TRUE(same_bits(r.gradient, zeros<double>({4, 4})));
  }
  const Result weightless =
      run(logits(), targets(), {.label_smoothing = 0.1, .class_weights = {0, 1, 0, 0}});
  EXPECT_EQ(weightless.loss, 0);
  EXPECT_TRUE(same_bits(weightless.gradient, zeros<double>({4, 4})));
  EXPECT_EQ(run(zeros<double>({0, 4}), empty<std::int32_t>({0})).loss, 0);
}

// G7: micro-batches with the whole batch's normalizer add up to the whole batch.
TEST(CrossEntropy, NormalizerMakesMicroBatchesAddUp) {
  const Result whole = run(logits(), targets());
  double loss = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    Tensor<double> x = empty<double>({1, 4});
    std::copy_n(logits().data() + 4 * row, 4, x.data());
    const Result part = run(x, full<std::int32_t>({1}, targets()(row)), {.normalizer = 3});
    loss += part.loss;
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(part.gradient(0, c), whole.gradient(row, c), 1e-16);
  }
  EXPECT_NEAR(loss, whole.loss, 1e-15);
}

TEST(CrossEntropy, LargeLogitsGiveNoNan) {
  const auto x = tensor({2, 2}, {1e4, -1e4, 1e4, -1e4});
  const Result r = run(x, tensor<std::int32_t>({2}, {0, 1}));
  EXPECT_EQ(r.loss, 1e4);
  EXPECT_TRUE(same_bits(r.gradient, tensor({2, 2}, {0.0, 0.0, 0.5, -0.5})));
  const Variable<float> f(cast<float>(x), true);
  EXPECT_EQ(cross_entropy(f, tensor<std::int32_t>({2}, {0, 1})).value()(), 1e4f);
}

// Logits between an offset and offset + spread, against the formula in long double. With logits
// like these, torch.nn.functional.cross_entropy (1.13, float) errs by up to 9.8e-8 in the gradient,
// and by up to 1.2e-7 in the loss (relative to losses above 1).
TEST(CrossEntropy, FloatIsExactAtAnyOffsetAndSpread) {
  for (const std::size_t classes : {2, 10, 1000}) {
    for (const double offset : {0.0, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6}) {
      for (const double spread : {0.0, 1.0, 10.0, 40.0, 80.0}) {
        const Rng rng = Rng(21) / classes / std::uint64_t(offset) / std::uint64_t(spread);
        const auto z = random_tensor<float>({classes}, rng, offset, offset + spread);
        const auto y = std::size_t(rng.below(classes, classes));
        const Variable<float> logits(z, true);
        const auto loss = cross_entropy(logits, full<std::int32_t>({}, std::int32_t(y)));
        loss.backward();

        const long double m = *std::max_element(z.begin(), z.end());
        long double sum = 0;
        for (const float x : z) sum += std::exp(x - m);
        const long double expected = std::log(sum) - (z(y) - m);
        SCOPED_TRACE(testing::Message() << classes << " classes, " << offset << ", " << spread);
        EXPECT_NEAR(loss.value()(), double(expected), 2.4e-7 * std::max(1.0, double(expected)));
        for (std::size_t c = 0; c < classes; ++c) {
          const long double p = std::exp(z(c) - m) / sum;
          ASSERT_NEAR(logits.grad()(c), double(p - (c == y ? 1 : 0)), 1.2e-7) << c;
        }
      }
    }
  }
}

// A row's gradient adds up to 0, so that of the likeliest class has the sum over all classes in it:
// one logit of 100 has p = 1 but for e^-100, and its gradient is 1 - s / V, that of 0 elsewhere.
TEST(CrossEntropy, SmoothingIsExactOverManyClasses) {
  constexpr std::size_t kClasses = 32000;
  for (const double smoothing : {0.1, 0.5}) {
    Tensor<float> z = zeros<float>({kClasses});
    z(3) = 100;
    const Variable<float> logits(z, true);
    cross_entropy(logits, full<std::int32_t>({}, 5), {.label_smoothing = smoothing}).backward();
    EXPECT_NEAR(logits.grad()(3), 1 - smoothing / kClasses, 2e-7) << smoothing;
  }
}

// Both are as likely: p - 1 and p are -1/2 and 1/2.
TEST(CrossEntropy, LargeEqualLogitsHaveHalvesAsGradients) {
  const Variable<float> logits(full<float>({2}, 1e6f), true);
  cross_entropy(logits, full<std::int32_t>({}, 0)).backward();
  EXPECT_NEAR(logits.grad()(0), -0.5f, 1e-7f);
  EXPECT_NEAR(logits.grad()(1), 0.5f, 1e-7f);
}

TEST(CrossEntropy, NamesTheTargetAndItsPlace) {
  const Variable<double> x(zeros<double>({2, 3, 4}));
  Ids y = full<std::int32_t>({2, 3}, 0);
  y(1, 0) = 4;
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] { cross_entropy(x, y); },
      "cross_entropy: target 4 at [1, 0]: expected a class in [0, 4) or -100"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        cross_entropy(x, full<std::int32_t>({3, 2}, 0));
      },
      "cross_entropy: logits (2, 3, 4): expected targets (2, 3), got (3, 2)"));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { cross_entropy(x, y, {.class_weights = {1}}); },
                              "cross_entropy: logits (2, 3, 4): expected 4 class weights, got 1"));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { cross_entropy(x, y, {.label_smoothing = -0.1}); },
                              "cross_entropy: expected 0 <= label_smoothing < 1, got -0.1"));
}

// Either would give the loss 0, or one of the wrong sign.
TEST(CrossEntropy, RefusesNegativeWeightsAndDivisors) {
  const Variable<double> x(zeros<double>({1, 2}));
  const Ids y = full<std::int32_t>({1}, 0);
  const double nan = std::nan("");
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        cross_entropy(x, y, {.class_weights = {1, -2}});
      },
      "cross_entropy: expected class weights >= 0, got -2"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { cross_entropy(x, y, {.normalizer = -1}); },
                                      "cross_entropy: expected normalizer >= 0, got -1"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { cross_entropy(x, y, {.normalizer = nan}); },
                                      "cross_entropy: expected normalizer >= 0, got nan"));
}

// As in PyTorch: a class with the logit -inf has the probability 0.
TEST(CrossEntropy, AnImpossibleClass) {
  const double none = -std::numeric_limits<double>::infinity();
  const Variable<double> logits(tensor({1, 3}, {0.5, none, -0.5}), true);
  const Variable<double> loss = cross_entropy(logits, tensor<std::int32_t>({1}, {0}), {});
  EXPECT_NEAR(loss.value()(), std::log(1 + std::exp(-1.0)), 1e-15);
  loss.backward();
  const double p = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(logits.grad()(0, 0), p - 1, 1e-15);
  EXPECT_EQ(logits.grad()(0, 1), 0);
  EXPECT_NEAR(logits.grad()(0, 2), 1 - p, 1e-15);
}

// The loss that was made last passes its gradient on first.
TEST(CrossEntropy, AnIgnoredRowKeepsTheGradientOfAnotherLoss) {
  const Variable<double> logits(tensor({2, 2}, {0.5, 1, -1, 2}), true);
  const Variable<double> some = cross_entropy(logits, tensor<std::int32_t>({2}, {0, -100}), {});
  const Variable<double> all = cross_entropy(logits, tensor<std::int32_t>({2}, {1, 0}), {});
  all.backward(true);
  const Tensor<double> alone = logits.grad();
  logits.zero_grad();
  add(some, all).backward();
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(logits.grad()(1, c), alone(1, c));
}

}  // namespace xgrad::test
