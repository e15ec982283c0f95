#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

TEST(MseLoss, S4_8_MeanOfSquares) {
  const Variable<double> x(tensor({2, 2}, {1.0, 2.0, 3.0, 4.0}), true),
      y(tensor({2, 2}, {1.0, 0.0, 4.0, 8.0}), true);
  const auto loss = mse_loss(x, y);
  EXPECT_EQ(loss.shape(), Shape{});
  EXPECT_EQ(loss.value()(), (0 + 4 + 1 + 16) / 4.0);
  loss.backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 2}, {0.0, 1.0, -0.5, -2.0}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({2, 2}, {0.0, -1.0, 0.5, 2.0}), 0);
}

TEST(MseLoss, OfNothingIsZero) {
  const Variable<double> x(zeros<double>({0, 2}), true);
  const auto loss = mse_loss(x, x);
  EXPECT_EQ(loss.value()(), 0);
  loss.backward();
  EXPECT_EQ(x.grad().size(), 0u);
}

TEST(L1Loss, S4_8_MeanOfDistances) {
  const Variable<double> x(tensor({2, 2}, {1.0, 2.0, 3.0, 4.0}), true),
      y(tensor({2, 2}, {1.0, 0.0, 4.0, 8.0}), true);
  const auto loss = l1_loss(x, y);
  EXPECT_EQ(loss.value()(), (0 + 2 + 1 + 4) / 4.0);
  loss.backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 2}, {0.0, 0.25, -0.25, -0.25}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({2, 2}, {0.0, -0.25, 0.25, 0.25}), 0);
}

TEST(HuberLoss, S4_8_ASquareThatBecomesALine) {
  const Variable<double> x(tensor({4}, {1.0, 2.0, 3.0, 4.0}), true),
      y(tensor({4}, {1.0, 0.0, 4.0, 8.0}), true);
  const auto loss = huber_loss(x, y, 1.5);
  EXPECT_EQ(loss.value()(), (0 + 1.5 * (2 - 0.75) + 0.5 + 1.5 * (4 - 0.75)) / 4);
  loss.backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({4}, {0.0, 1.5 / 4, -0.25, -1.5 / 4}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({4}, {0.0, -1.5 / 4, 0.25, 1.5 / 4}), 0);
}

TEST(BinaryCrossEntropy, S4_8_OfLogits) {
  const double ln3 = std::log(3.0);  // the logit of 3/4
  const Variable<double> x(tensor({3}, {ln3, ln3, 0.0}), true), y(tensor({3}, {1.0, 0.0, 0.5}));
  const auto loss = binary_cross_entropy_with_logits(x, y);
  EXPECT_NEAR(loss.value()(), (std::log(4.0 / 3) + std::log(4.0) + std::log(2.0)) / 3, 1e-15);
  loss.backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({3}, {-0.25 / 3, 0.75 / 3, 0.0}), 1e-16);
}

// Of two classes with logits (0, x), cross-entropy is the same.
TEST(BinaryCrossEntropy, IsTheCrossEntropyOfTwoClasses) {
  const Tensor<double> x = random_tensor({7}, Rng(3), -5, 5);
  Tensor<double> pairs = zeros<double>({7, 2}), y = zeros<double>({7});
  Ids classes = random_ids({7}, Rng(4), 2);
  for (std::size_t i = 0; i < 7; ++i) {
    pairs(i, 1) = x(i);
    y(i) = classes(i);
  }
  const Variable<double> one(x, true), two(pairs, true);
  const auto binary = binary_cross_entropy_with_logits(one, Variable<double>(y));
  const auto both = cross_entropy(two, classes);
  EXPECT_NEAR(binary.value()(), both.value()(), 1e-15);
  binary.backward();
  both.backward();
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(one.grad()(i), two.grad()(i, 1), 1e-16);
}

TEST(BinaryCrossEntropy, LargeLogitsGiveNoNan) {
  const Variable<float> x(tensor<float>({4}, {1e4f, -1e4f, 1e4f, -1e4f}), true),
      y(tensor<float>({4}, {1, 0, 0, 1}));
  const auto loss = binary_cross_entropy_with_logits(x, y);
  EXPECT_EQ(loss.value()(), 5e3f);
  loss.backward();
  EXPECT_TRUE(same_bits(x.grad(), tensor<float>({4}, {0, 0, 0.25f, -0.25f})));
}

using Loss = Variable<double> (*)(const Variable<double>&, const Variable<double>&,
                                  const LossOptions&);
const std::vector<std::pair<const char*, Loss>>& losses() {
  static const std::vector<std::pair<const char*, Loss>> all = {
      {"mse", &mse_loss<double>},
      {"l1", &l1_loss<double>},
      {"huber",
       [](const auto& x, const auto& y, const LossOptions& o) { return huber_loss(x, y, 0.7, o); }},
      {"binary", &binary_cross_entropy_with_logits<double>}};
  return all;
}

struct Result {
  double loss;
  Tensor<double> dx, dy;
};

Result run(Loss f, const Tensor<double>& x, const Tensor<double>& y,
           const LossOptions& options = {}) {
  const Variable<double> a(x, true), b(y, true);
  const auto loss = f(a, b, options);
  loss.backward();
  return {loss.value()(), a.grad(), b.grad()};
}

// torch.nn.functional's mse_loss, l1_loss, huber_loss with delta 0.7, and
// binary_cross_entropy_with_logits.
TEST(ElementwiseLosses, S4_8_AsPyTorch) {
  const Golden golden("torch_losses.txt");
  for (const auto& [loss, f] : losses()) {
    for (const std::string& name : {std::string(loss), loss + std::string(".masked")}) {
      LossOptions options;
      if (golden.has(name + ".mask")) {
        options.mask = std::make_shared<const Mask>(golden.mask(name + ".mask"));
      }
      const double dy = golden(name + ".dy")();
      const Result r = run(f, golden(name + ".x"), golden(name + ".target"), options);
      EXPECT_NEAR(r.loss, golden(name + ".y")(), 1e-14) << name;
      const Tensor<double> dx = r.dx * dy, dtarget = r.dy * dy;
      EXPECT_TENSOR_NEAR(dx, golden(name + ".dx"), 1e-14) << name;
      EXPECT_TENSOR_NEAR(dtarget, golden(name + ".dtarget"), 1e-14) << name;
    }
  }
}

std::shared_ptr<const Mask> share(Mask mask) {
  return std::make_shared<const Mask>(std::move(mask));
}

TEST(ElementwiseLosses, S4_1_PaddingChangesNothing) {
  const Tensor<double> x = random_tensor({2, 3}, Rng(5), -2, 2),
                       y = random_tensor({2, 3}, Rng(6), 0, 1);
  Tensor<double> wide_x = full<double>({2, 5}, std::numeric_limits<double>::quiet_NaN());
  Tensor<double> wide_y = full<double>({2, 5}, 1e300);
  Mask mask = zeros<std::uint8_t>({2, 5});
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t n = 0; n < 3; ++n) {
      wide_x(b, n) = x(b, n);
      wide_y(b, n) = y(b, n);
      mask(b, n) = 1;
    }
  }
  for (const auto& [name, f] : losses()) {
    const Result alone = run(f, x, y), padded = run(f, wide_x, wide_y, {.mask = share(mask)});
    EXPECT_NEAR(padded.loss, alone.loss, 1e-12) << name;
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t n = 0; n < 5; ++n) {
        EXPECT_NEAR(padded.dx(b, n), n < 3 ? alone.dx(b, n) : 0, 1e-12) << name;
        EXPECT_NEAR(padded.dy(b, n), n < 3 ? alone.dy(b, n) : 0, 1e-12) << name;
      }
    }
  }
}

TEST(ElementwiseLosses, AMaskOfOnesEqualsNone) {
  const Tensor<double> x = random_tensor({300, 101}, Rng(5)), y = random_tensor({300, 101}, Rng(6));
  for (const auto& [name, f] : losses()) {
    const Result none = run(f, x, y);
    const Result ones = run(f, x, y, {.mask = share(full<std::uint8_t>({300, 101}, 1))});
    EXPECT_EQ(ones.loss, none.loss) << name;
    EXPECT_TRUE(same_bits(ones.dx, none.dx)) << name;
    EXPECT_TRUE(same_bits(ones.dy, none.dy)) << name;
  }
}

TEST(ElementwiseLosses, S4_8_NothingCountsGivesZero) {
  const Tensor<double> x = random_tensor({2, 3}, Rng(5));
  for (const auto& [name, f] : losses()) {
    const Result r = run(f, x, x, {.mask = share(zeros<std::uint8_t>({2, 3}))});
    EXPECT_EQ(r.loss, 0) << name;
    EXPECT_TRUE(same_bits(r.dx, zeros<double>({2, 3}))) << name;
  }
}

// Micro-batches with the whole batch's normalizer add up to the whole batch. A tenth of it, which
// is below 1, gives ten times as much.
TEST(ElementwiseLosses, NormalizerMakesMicroBatchesAddUp) {
  const Tensor<double> x = random_tensor({5}, Rng(5)), y = random_tensor({5}, Rng(6), 0, 1);
  for (const auto& [name, f] : losses()) {
    const Result whole = run(f, x, y);
    for (const double factor : {1, 10}) {
      double sum = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        const Result part = run(f, full({1}, x(i)), full({1}, y(i)), {.normalizer = 5 / factor});
        sum += part.loss;
        EXPECT_NEAR(part.dx(0), factor * whole.dx(i), factor * 1e-16) << name;
      }
      EXPECT_NEAR(sum, factor * whole.loss, factor * 1e-15) << name;
    }
  }
}

TEST(ElementwiseLosses, NameWhatIsWrong) {
  const auto v = [](const Shape& shape) { return Variable<double>(zeros<double>(shape)); };
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        mse_loss(v({2, 3}), v({2}));
      },
      "mse_loss: x has shape (2, 3), y (2)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        l1_loss(v({2, 3}), v({2, 3}), {.mask = share(zeros<std::uint8_t>({3, 2}))});
      },
      "l1_loss: x has shape (2, 3), the mask (3, 2)"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { l1_loss(v({2}), v({2}), {.normalizer = -1}); },
                                      "l1_loss: expected normalizer >= 0, got -1"));
}

TEST(ElementwiseLosses, ANormalizerOfZeroGivesZero) {
  const Variable<double> x(tensor({2}, {1, 2}), true), y(tensor({2}, {0, 5}));
  const Variable<double> loss = mse_loss(x, y, {.normalizer = 0.0});
  EXPECT_EQ(loss.value()(), 0);
  loss.backward();
  EXPECT_EQ(x.grad()(0), 0);
  EXPECT_EQ(x.grad()(1), 0);
}

}  // namespace xgrad::test
