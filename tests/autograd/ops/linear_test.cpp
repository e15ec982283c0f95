#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Variable<double> leaf(const Tensor<double>& value) {
  return Variable<double>(value, true);
}

// The result and the three gradients.
template <class T>
std::vector<Tensor<T>> run(const Variable<T>& y, const Tensor<T>& dy,
                           const std::vector<Variable<T>>& leaves) {
  std::vector<Tensor<T>> results = {y.value()};
  y.backward(dy);
  for (const Variable<T>& x : leaves) {
    results.push_back(x.grad());
    x.zero_grad();
  }
  return results;
}

}  // namespace

// Tokens are rows, so q = a W; the weight is kept as W^T, (out, in).
TEST(Linear, S3_2_QueriesInRowConvention) {
  const auto tokens = leaf(tensor({2, 2}, {1.0, 1.0, 1.0, 0.0}));
  const auto weight = leaf(tensor({2, 2}, {1.0, 0.0, 1.0, 1.0}));
  EXPECT_TENSOR_NEAR(linear(tokens, weight).value(), worked_example("S3.2.q"), 0);
}

TEST(Linear, AddsTheBiasToEveryRow) {
  const auto x = leaf(tensor({2, 1, 2}, {1.0, 2.0, 3.0, 4.0}));
  const auto weight = leaf(tensor({3, 2}, {1.0, 0.0, 0.0, 1.0, 1.0, 1.0}));
  const auto bias = leaf(tensor({3}, {10.0, 20.0, 30.0}));
  const auto y = linear(x, weight, bias);
  EXPECT_TENSOR_NEAR(y.value(), tensor({2, 1, 3}, {11.0, 22.0, 33.0, 13.0, 24.0, 37.0}), 0);
  y.backward(tensor({2, 1, 3}, {1.0, 0.0, 0.0, 0.0, 1.0, 2.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 1, 2}, {1.0, 0.0, 2.0, 3.0}), 0);
  EXPECT_TENSOR_NEAR(weight.grad(), tensor({3, 2}, {1.0, 2.0, 3.0, 4.0, 6.0, 8.0}), 0);
  EXPECT_TENSOR_NEAR(bias.grad(), tensor({3}, {1.0, 1.0, 2.0}), 0);
}

TEST(Linear, OneVectorAndNoRows) {
  const auto weight = leaf(tensor({1, 2}, {2.0, 3.0}));
  const auto bias = leaf(tensor({1}, {1.0}));
  EXPECT_TENSOR_NEAR(linear(leaf(tensor({2}, {1.0, 1.0})), weight, bias).value(),
                     tensor({1}, {6.0}), 0);
  const auto y = linear(leaf(zeros<double>({0, 2})), weight, bias);
  EXPECT_EQ(y.shape(), (Shape{0, 1}));
  y.backward(zeros<double>({0, 1}));
  EXPECT_TENSOR_NEAR(weight.grad(), zeros<double>({1, 2}), 0);
  EXPECT_TENSOR_NEAR(bias.grad(), zeros<double>({1}), 0);
}

// A weight that is used twice collects both gradients in place.
TEST(Linear, ASharedWeightCollects) {
  const Rng rng(2);
  const std::vector<Tensor<double>> inputs = {random_tensor({3, 4}, rng / "x"),
                                              random_tensor({4, 4}, rng / "w"),
                                              random_tensor({4}, rng / "b")};
  EXPECT_TRUE(gradients_agree(
      [](const auto& x) { return linear(linear(x[0], x[1], x[2]), x[1], x[2]); }, inputs));
}

// G4: |float - double| <= 8 sqrt(K) eps sum |terms|, for sizes around all vector widths.
TEST(Linear, G4_FloatFollowsDouble) {
  constexpr double eps = std::numeric_limits<float>::epsilon();
  for (std::size_t n = 1; n <= 67; ++n) {
    const Rng rng = Rng(11) / n;
    const std::size_t rows = 1 + n * 7 % 67, in = n, out = 1 + n * 11 % 67;
    const auto x = random_tensor<float>({rows, in}, rng / "x");
    const auto w = random_tensor<float>({out, in}, rng / "w");
    const auto b = random_tensor<float>({out}, rng / "b");
    const auto dy = random_tensor<float>({rows, out}, rng / "dy");
    const std::vector<Variable<float>> f = {Variable<float>(x, true), Variable<float>(w, true),
                                            Variable<float>(b, true)};
    const std::vector<Variable<double>> d = {leaf(cast<double>(x)), leaf(cast<double>(w)),
                                             leaf(cast<double>(b))};
    const auto actual = run(linear(f[0], f[1], f[2]), dy, f);
    const auto expected = run(linear(d[0], d[1], d[2]), cast<double>(dy), d);
    // The same with every term's size in place of the term.
    std::vector<Variable<double>> sizes;
    for (const auto& v : d) sizes.push_back(leaf(xt::abs(v.value())));
    const auto terms =
        run(linear(sizes[0], sizes[1], sizes[2]), Tensor<double>(xt::abs(cast<double>(dy))), sizes);
    const std::size_t lengths[] = {in + 1, out, rows, rows};
    for (std::size_t i = 0; i < actual.size(); ++i) {
      for (std::size_t k = 0; k < actual[i].size(); ++k) {
        ASSERT_LE(std::fabs(actual[i].data()[k] - expected[i].data()[k]),
                  8 * std::sqrt(double(lengths[i])) * eps * terms[i].data()[k])
            << "n = " << n << ", tensor " << i << ", element " << k;
      }
    }
  }
}

TEST(LinearGelu, IsGeluOfLinear) {
  const Rng rng(12);
  const auto x = leaf(random_tensor({5, 31, 40}, rng / "x"));
  const auto w = leaf(random_tensor({33, 40}, rng / "w"));
  const auto b = leaf(random_tensor({33}, rng / "b"));
  const Tensor<double> dy = random_tensor({5, 31, 33}, rng / "dy");
  for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
    for (const auto& bias : {b, Variable<double>()}) {
      const auto wanted = bias.defined() ? std::vector{x, w, b} : std::vector{x, w};
      const auto fused = run(linear_gelu(x, w, bias, kind), dy, wanted);
      const auto apart = run(gelu(linear(x, w, bias), kind), dy, wanted);
      for (std::size_t i = 0; i < fused.size(); ++i) {
        EXPECT_TRUE(tensors_near(fused[i], apart[i], 1e-12)) << "tensor " << i;
      }
    }
  }
}

// The forward to the bit; f gelu' is rounded elsewhere than gelu' and then f.
TEST(LinearGelu, DropsAsDropoutDoes) {
  const Rng rng(13);
  const Variable<float> x(random_tensor<float>({5, 31, 40}, rng / "x", -4, 4), true);
  const Variable<float> w(random_tensor<float>({33, 40}, rng / "w"), true);
  const Variable<float> b(random_tensor<float>({33}, rng / "b"), true);
  const auto dy = random_tensor<float>({5, 31, 33}, rng / "dy");
  const DropoutOptions drop = {.p = 0.3, .rng = rng / "drop", .first_sample = 7};
  for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
    const auto fused = run(linear_gelu(x, w, b, kind, drop), dy, {x, w, b});
    const auto apart = run(dropout(linear_gelu(x, w, b, kind), drop), dy, {x, w, b});
    EXPECT_TRUE(same_bits(fused[0], apart[0]));
    for (std::size_t i = 1; i < fused.size(); ++i) EXPECT_TENSOR_NEAR(fused[i], apart[i], 1e-5);
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(linear_gelu(x, w, b, kind, drop).value(), apart[0]));
  }
  const Variable<float> nothing(zeros<float>({0, 3, 40}));
  EXPECT_EQ(linear_gelu(nothing, w, b, Gelu::exact, drop).shape(), (Shape{0, 3, 33}));
  EXPECT_TRUE(throws_with<ShapeError>([&] { linear_gelu(x, w, b, Gelu::exact, {.p = 1}); },
                                      "linear_gelu: expected 0 <= p < 1, got 1"));
}

// Without a graph another loop runs, over the same function.
TEST(LinearGelu, TheSameBitsWithAndWithoutAGraph) {
  const Rng rng(14);
  const Variable<float> x(random_tensor<float>({67, 40}, rng / "x", -4, 4), true);
  const Variable<float> w(random_tensor<float>({71, 40}, rng / "w"), true);
  const Variable<float> b(random_tensor<float>({71}, rng / "b"), true);
  for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
    const Tensor<float> recorded = linear_gelu(x, w, b, kind).value();
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(linear_gelu(x, w, b, kind).value(), recorded));
  }
}

// Many rows: several tiles of the product and several blocks of the sums.
TEST(LinearGelu, TheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  const Rng rng(13);
  const Variable<float> x(random_tensor<float>({2, 700, 48}, rng / "x"), true);
  const Variable<float> w(random_tensor<float>({600, 48}, rng / "w"), true);
  const Variable<float> b(random_tensor<float>({600}, rng / "b"), true);
  const Tensor<float> dy = random_tensor<float>({2, 700, 600}, rng / "dy");
  std::vector<std::vector<Tensor<float>>> results;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    results.push_back(run(linear_gelu(x, w, b), dy, {x, w, b}));
  }
  set_threads(before);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_TRUE(same_bits(results[1][i], results[0][i])) << "tensor " << i;
    EXPECT_TRUE(same_bits(results[2][i], results[0][i])) << "tensor " << i;
  }
}

TEST(Linear, SaysWhatDoesNotFit) {
  const auto of = [](const Shape& shape) { return leaf(zeros<double>(shape)); };
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        linear(of({8, 16}), of({64, 32}));
      },
      "linear: weight (64, 32): expected x (..., 32), got (8, 16)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        linear(of({8, 32}), of({64, 32}), of({32}));
      },
      "linear: weight (64, 32): expected bias (64), got (32)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        linear(of({8, 32}), of({32}));
      },
      "linear: weight: expected (out, in), got (32)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        linear_gelu(of({}), of({64, 32}));
      },
      "linear_gelu: weight (64, 32): expected x (..., 32), got ()"));
}

}  // namespace xgrad::test
