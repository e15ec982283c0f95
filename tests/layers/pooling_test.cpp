#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/layers/models/models.hpp>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(6) / "pooling";
constexpr Pool kPools[] = {Pool::none, Pool::cls, Pool::mean, Pool::max, Pool::attention};

// S4.6, written out for each of three samples of which the first 4, 2 and 1 tokens count.
TEST(Pooling, S4_6_OfTheTokensThatTheMaskKeeps) {
  const Tensor<double> x = random_tensor({3, 4, 5}, kRng, -3, 3);
  const auto mask = test::lengths({4, 2, 1}, 4);
  Parameters<double> parameters(1);
  const Variable<double> in(x);
  const auto mean = Pooling<double>(parameters.root() / "a", Pool::mean, 5)(in, mask);
  const auto max = Pooling<double>(parameters.root() / "b", Pool::max, 5)(in, mask);
  const Pooling<double> attend(parameters.root() / "c", Pool::attention, 5);
  Tensor<double>& q = parameters.at("c.query").mutable_value();
  q = random_tensor({5}, kRng / "query", -2, 2);
  const auto attended = attend(in, mask);
  const std::size_t counts[] = {4, 2, 1};
  for (std::size_t b = 0; b < 3; ++b) {
    std::vector<double> weights;
    double total = 0;
    for (std::size_t n = 0; n < counts[b]; ++n) {
      double score = 0;
      for (std::size_t j = 0; j < 5; ++j) score += q(j) * x(b, n, j);
      weights.push_back(std::exp(score / std::sqrt(5.0)));
      total += weights.back();
    }
    for (std::size_t j = 0; j < 5; ++j) {
      double sum = 0, largest = -10, weighted = 0;
      for (std::size_t n = 0; n < counts[b]; ++n) {
        sum += x(b, n, j);
        largest = std::max(largest, x(b, n, j));
        weighted += weights[n] / total * x(b, n, j);
      }
      EXPECT_NEAR(mean.value()(b, j), sum / double(counts[b]), 1e-15);
      EXPECT_EQ(max.value()(b, j), largest);
      EXPECT_NEAR(attended.value()(b, j), weighted, 1e-14);
    }
  }
}

TEST(Pooling, MaxTakesTheFirstOfEqualsAndKeepsNaN) {
  const Variable<double> x(test::tensor({1, 3, 2}, {1, 5, 2, 5, 2, 4}), true);
  const auto y = masked_max(x);
  EXPECT_TRUE(test::same_bits(y.value(), test::tensor({1, 2}, {2, 5})));
  y.backward(test::tensor({1, 2}, {10, 20}));
  EXPECT_TRUE(test::same_bits(x.grad(), test::tensor({1, 3, 2}, {0, 20, 10, 0, 0, 0})));
  const double nan = std::nan("");
  const auto spoilt = masked_max(Variable<double>(test::tensor({1, 3, 1}, {1, nan, 7})));
  EXPECT_TRUE(std::isnan(spoilt.value()(0, 0)));
  const auto hidden = masked_max(Variable<double>(test::tensor({1, 3, 1}, {1, nan, 7})),
                                 std::make_shared<const Mask>(Mask{{1, 0, 1}}));
  EXPECT_EQ(hidden.value()(0, 0), 7);
  const auto nothing = masked_max(x, std::make_shared<const Mask>(Mask{{0, 0, 0}}));
  EXPECT_TRUE(test::same_bits(nothing.value(), zeros<double>({1, 2})));
}

// One model in double, with the gradients of a fixed contraction of its outputs.
struct Passes {
  explicit Passes(const EncoderModelOptions& options) : model(parameters.root(), options) {
    for (const Parameter<double>& p : parameters) {
      p.variable.mutable_value() += random_tensor(p.variable.shape(), kRng / p.name, -0.3, 0.3);
    }
  }
  // The outputs of the first tokens of a sample alone, and what they add to the gradients.
  Tensor<double> add(const ModelInput<double>& input, const Tensor<double>& dy) {
    const auto y = model(input, {});
    EXPECT_EQ(y.shape(), dy.shape());
    y.backward(dy);
    return y.value();
  }
  Parameters<double> parameters{3};
  EncoderModel<double> model;
};

EncoderModelOptions vector_options(Pool pool) {
  EncoderModelOptions o;
  o.input.vector = 3;
  o.input.max_length = 5;
  o.encoder.layers = 2;
  o.encoder.attention = {.width = 8, .heads = 2};
  o.encoder.feedforward = 12;
  o.pool = pool;
  o.classes = 2;
  return o;
}

// The first `length` rows of sample b.
Tensor<double> part(const Tensor<double>& x, std::size_t b, std::size_t length) {
  const std::size_t tokens = x.shape()[1], width = x.shape()[2];
  Tensor<double> own = empty<double>({1, length, width});
  std::copy_n(x.data() + b * tokens * width, own.size(), own.data());
  return own;
}

// The padding holds numbers, of which nothing may be seen.
TEST(Pooling, S4_1_PaddingChangesNoOutputAndNoGradient) {
  const Tensor<double> x = random_tensor({3, 5, 3}, kRng / "x", -2, 2);
  const std::size_t counts[] = {5, 3, 1};
  for (const Pool pool : kPools) {
    SCOPED_TRACE(int(pool));
    Passes padded(vector_options(pool)), alone(vector_options(pool));
    const bool tokens = pool == Pool::none;
    Tensor<double> dy = random_tensor(tokens ? Shape{3, 5, 2} : Shape{3, 1, 2}, kRng / "dy");
    for (std::size_t b = 0; tokens && b < 3; ++b) {
      for (std::size_t n = counts[b]; n < 5; ++n) dy(b, n, 0) = dy(b, n, 1) = 0;
    }
    Tensor<double> all = dy;
    if (!tokens) all.reshape({3, 2});
    const Tensor<double> y = padded.add({nullptr, &x, test::lengths({5, 3, 1}, 5)}, all);
    for (std::size_t b = 0; b < 3; ++b) {
      const Tensor<double> own = part(x, b, counts[b]);
      Tensor<double> own_dy = part(dy, b, tokens ? counts[b] : 1);
      if (!tokens) own_dy.reshape({1, 2});
      const Tensor<double> own_y = alone.add({nullptr, &own, nullptr}, own_dy);
      const double* expected = y.data() + b * y.size() / 3;
      for (std::size_t i = 0; i < own_y.size(); ++i) {
        EXPECT_NEAR(own_y.data()[i], expected[i], 1e-12);
      }
    }
    auto other = alone.parameters.begin();
    for (const Parameter<double>& p : padded.parameters) {
      EXPECT_TENSOR_NEAR(p.variable.grad(), (other++)->variable.grad(), 1e-12) << p.name;
    }
  }
}

TEST(Pooling, AMaskOfOnesEqualsNone) {
  const Tensor<double> x = random_tensor({2, 5, 3}, kRng / "x");
  for (const Pool pool : kPools) {
    SCOPED_TRACE(int(pool));
    Passes without(vector_options(pool)), with(vector_options(pool));
    const Tensor<double> dy =
        random_tensor(pool == Pool::none ? Shape{2, 5, 2} : Shape{2, 2}, kRng / "dy");
    EXPECT_TRUE(test::same_bits(with.add({nullptr, &x, test::lengths({5, 5}, 5)}, dy),
                                without.add({nullptr, &x, nullptr}, dy)));
    auto other = without.parameters.begin();
    for (const Parameter<double>& p : with.parameters) {
      EXPECT_TRUE(test::same_bits(p.variable.grad(), (other++)->variable.grad())) << p.name;
    }
  }
}

}  // namespace
}  // namespace xgrad
