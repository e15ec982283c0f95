#include <xgrad/layers/attention/attention.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "layers/models.hpp"
#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(11) / "attention layer";

// The layer "a" by hand: softmax(q k^T / sqrt(d_h)) v of each head, with q, k and v made by
// consecutive rows of the packed weight and bias, joined and projected.
Variable<double> head_by_head(const Variable<double>& x, const Parameters<double>& parameters,
                              std::size_t heads, std::size_t head_dim) {
  const auto parameter = [&](const std::string& name) {
    for (const Parameter<double>& p : parameters) {
      if (p.name == "a." + name) return p.variable;
    }
    return Variable<double>();
  };
  const Variable<double> weight = parameter("in_proj_weight"), bias = parameter("in_proj_bias");
  std::vector<Variable<double>> joined;
  for (std::size_t head = 0; head < heads; ++head) {
    const auto project = [&](std::size_t part) {
      const std::size_t begin = (part * heads + head) * head_dim, end = begin + head_dim;
      return linear(x, slice(weight, 0, begin, end),
                    bias.defined() ? slice(bias, 0, begin, end) : bias);
    };
    const Variable<double> scores = matmul(project(0), project(1), false, true);
    joined.push_back(matmul(softmax(scale(scores, 1 / std::sqrt(double(head_dim)))), project(2)));
  }
  return linear(concat(joined, 2), parameter("out_proj.weight"), parameter("out_proj.bias"));
}

// Makes every parameter random, biases too, which start at 0.
void randomize(const Parameters<double>& parameters) {
  for (const Parameter<double>& p : parameters) {
    p.variable.mutable_value() = random_tensor(p.variable.shape(), kRng / p.name);
  }
}

TEST(MultiHeadAttention, S0_5_PackedEqualsHeadByHead) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 12, .heads = 3});
  const Variable<double> x(random_tensor({2, 5, 12}, kRng));
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), head_by_head(x, parameters, 3, 4).value(), 1e-12);
}

TEST(MultiHeadAttention, S0_4_QueriesAndKeysAreNotInterchangeable) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 8, .heads = 2});
  const Variable<double> x(random_tensor({1, 4, 8}, kRng));
  const Tensor<double> before = layer(x, {}, {}).value();
  Tensor<double>& packed = parameters.at("a.in_proj_weight").mutable_value();
  std::swap_ranges(packed.data(), packed.data() + 64, packed.data() + 64);  // w_q <-> w_k
  EXPECT_FALSE(test::tensors_near(layer(x, {}, {}).value(), before, 1e-6));
}

TEST(MultiHeadAttention, S0_10_PermutingHeadsWithTheOutputProjectionChangesNothing) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 6, .heads = 2});
  const Variable<double> x(random_tensor({2, 4, 6}, kRng));
  const Tensor<double> before = layer(x, {}, {}).value();
  double* packed = parameters.at("a.in_proj_weight").mutable_value().data();
  for (int third = 0; third < 3; ++third) {  // rows 0-2 are head 0, rows 3-5 head 1
    std::swap_ranges(packed + third * 36, packed + third * 36 + 18, packed + third * 36 + 18);
  }
  double* out = parameters.at("a.out_proj.weight").mutable_value().data();
  for (int row = 0; row < 6; ++row)
    std::swap_ranges(out + 6 * row, out + 6 * row + 3, out + 6 * row + 3);
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), before, 1e-14);
}

// Two heads of 3 features in a width of 5: the value by hand, and every gradient by central
// differences.
TEST(MultiHeadAttention, S0_11_HeadDimNeedNotDivideTheWidth) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a",
                                         {.width = 5, .heads = 2, .head_dim = 3});
  randomize(parameters);
  const Variable<double> x(random_tensor({2, 4, 5}, kRng), true);
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), head_by_head(x, parameters, 2, 3).value(), 1e-14);

  const Variable<double> weights(random_tensor({2, 4, 5}, kRng / "weights"));
  const auto loss = [&] { return sum(mul(layer(x, {}, {}), weights)); };
  loss().backward();
  EXPECT_EQ(parameters.count(), 3u * 6 * 5 + 5 * 6 + 5);
  std::vector<Variable<double>> leaves{x};
  for (const Parameter<double>& p : parameters) leaves.push_back(p.variable);
  for (const Variable<double>& leaf : leaves) {
    const Tensor<double> gradient = leaf.grad();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      constexpr double h = 1e-5;
      const double at = leaf.value().data()[i];
      const auto loss_at = [&](double value) {
        leaf.mutable_value().data()[i] = value;
        return *loss().value().data();
      };
      const double difference = (loss_at(at + h) - loss_at(at - h)) / (2 * h);
      leaf.mutable_value().data()[i] = at;
      EXPECT_NEAR(gradient.data()[i], difference, 1e-8) << to_string(leaf.shape()) << " " << i;
    }
  }
}

// The count does not depend on the number of heads; the scores do: three heads of 128 features
// each, divided by sqrt(128).
TEST(MultiHeadAttention, S0_12_WidthAndHeadsOfTheBook) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 384, .heads = 3});
  EXPECT_EQ(parameters.count(), test::worked_example("S0.12.parameters")());
  const Variable<double> x(random_tensor({1, 4, 384}, kRng, -3, 3));
  const Tensor<double> q = linear(x, Variable<double>(layer.w_q())).value(),
                       k = linear(x, Variable<double>(layer.w_k())).value(),
                       p = test::weights_of(layer, x).value();
  ASSERT_EQ(p.shape(), (Shape{1, 3, 4, 4}));
  for (std::size_t h = 0; h < 3; ++h) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<double> e;
      for (std::size_t j = 0; j < 4; ++j) {
        double score = 0;
        for (std::size_t c = 128 * h; c < 128 * (h + 1); ++c) score += q(0, i, c) * k(0, j, c);
        e.push_back(std::exp(score / test::worked_example("S0.12.scale")()));
      }
      const double sum = e[0] + e[1] + e[2] + e[3];
      for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(p(0, h, i, j), e[j] / sum, 1e-8);
    }
  }
}

// The bias of a call is added to that of the positions: -m_h |i - j| (Press et al. 2022).
TEST(MultiHeadAttention, AddsABiasToThatOfItsPositions) {
  Parameters<double> parameters(1), same(1);
  const MultiHeadAttentionOptions plain = {.width = 8, .heads = 2};
  MultiHeadAttentionOptions alibi = plain;
  alibi.positions = PositionKind::alibi;
  const MultiHeadAttention<double> layer(parameters.root() / "a", alibi),
      without(same.root() / "a", plain);
  const Variable<double> x(random_tensor({2, 5, 8}, kRng));
  const Tensor<double> bias = random_tensor({2, 2, 5, 5}, kRng / "bias");
  Tensor<double> total = bias;
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 5; ++j) total(b, h, i, j) -= alibi_slopes(2)[h] * std::abs(i - j);
      }
    }
  }
  EXPECT_TENSOR_NEAR(layer(x, {}, {}, Variable<double>(bias)).value(),
                     without(x, {}, {}, Variable<double>(total)).value(), 1e-13);
}

// Every combination of the two has its own parameters and adds its biases.
TEST(MultiHeadAttention, S0_13_BiasesAreTwoOptions) {
  EXPECT_FALSE(MultiHeadAttentionOptions().qkv_bias);
  EXPECT_TRUE(MultiHeadAttentionOptions().out_bias);
  for (const bool qkv_bias : {false, true}) {
    for (const bool out_bias : {false, true}) {
      Parameters<double> parameters(1);
      const MultiHeadAttention<double> layer(
          parameters.root() / "a",
          {.width = 6, .heads = 2, .qkv_bias = qkv_bias, .out_bias = out_bias});
      std::map<std::string, Shape> expected = {{"a.in_proj_weight", {18, 6}},
                                               {"a.out_proj.weight", {6, 6}}};
      if (qkv_bias) expected["a.in_proj_bias"] = {18};
      if (out_bias) expected["a.out_proj.bias"] = {6};
      std::map<std::string, Shape> found;
      for (const Parameter<double>& p : parameters) found[p.name] = p.variable.shape();
      EXPECT_EQ(found, expected);
      randomize(parameters);
      const Variable<double> x(random_tensor({2, 4, 6}, kRng));
      EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), head_by_head(x, parameters, 2, 3).value(),
                         1e-14);
    }
  }
}

// w_q has one shape for any number of heads; what the heads compute differs.
TEST(MultiHeadAttention, S1_12_TheNumberOfHeadsIsAnOption) {
  const Variable<double> x(random_tensor({1, 4, 24}, kRng));
  for (const std::size_t heads : {1, 3, 8}) {
    Parameters<double> parameters(1);
    const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 24, .heads = heads});
    EXPECT_EQ(layer.w_q().shape(), (Shape{24, 24}));
    EXPECT_EQ(test::weights_of(layer, x).shape(), (Shape{1, heads, 4, 4}));
    EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(),
                       head_by_head(x, parameters, heads, 24 / heads).value(), 1e-14);
  }
}

// All parameters of the layer are those of its projections; between them there are none.
TEST(MultiHeadAttention, S2_1_OnlyTheProjectionsHaveParameters) {
  for (const std::size_t heads : {1, 2, 6}) {
    Parameters<double> parameters(1);
    const MultiHeadAttention<double> layer(parameters.root() / "a",
                                           {.width = 6, .heads = heads, .out_proj = false});
    ASSERT_EQ(parameters.size(), 1u);
    EXPECT_EQ(parameters.begin()->name, "a.in_proj_weight");
    EXPECT_EQ(parameters.count(), 3u * 6 * 6);
  }
}

TEST(MultiHeadAttention, S0_16_HeadsMustDivideTheWidth) {
  Parameters<float> parameters(1);
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] { MultiHeadAttention<float>(parameters.root() / "a", {.width = 384, .heads = 5}); },
      "heads (5) does not divide width (384)"));
}

TEST(MultiHeadAttention, S0_17_EveryOutputSeesEveryInput) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 4, .heads = 2});
  for (std::size_t i = 0; i < 5; ++i) {
    const Variable<double> x(random_tensor({1, 5, 4}, kRng), true);
    sum(select(layer(x, {}, {}), 1, i)).backward();
    for (std::size_t j = 0; j < 5; ++j) {
      const double* d = x.grad().data() + 4 * j;
      EXPECT_TRUE(std::any_of(d, d + 4, [](double v) { return v != 0; })) << i << " " << j;
    }
  }
}

TEST(MultiHeadAttention, S4_19_WithoutOutputBiasThereAreOnlyMatrices) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "a", {.width = 7, .heads = 1, .head_dim = 4, .out_bias = false});
  EXPECT_EQ(parameters.count(), 3u * 7 * 4 + 4 * 7);
}

TEST(MultiHeadAttention, PermutedTokensGivePermutedOutputs) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 4, .heads = 2});
  const Tensor<double> x = random_tensor({1, 3, 4}, kRng);
  Tensor<double> reversed = x;
  for (std::size_t n = 0; n < 3; ++n)
    std::copy_n(x.data() + 4 * n, 4, reversed.data() + 4 * (2 - n));
  const Tensor<double> y = layer(Variable<double>(x), {}, {}).value();
  const Tensor<double> z = layer(Variable<double>(reversed), {}, {}).value();
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_NEAR(y.data()[4 * n + d], z.data()[4 * (2 - n) + d], 1e-15);
    }
  }
}

}  // namespace
}  // namespace xgrad
