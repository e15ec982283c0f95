#include <xgrad/layers/attention.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(11) / "attention layer";

// One head by hand from the packed weights: softmax(x Wq (x Wk)^T scale) x Wv, for consecutive
// slices of features.
Variable<double> one_head(const Variable<double>& x, const MultiHeadAttention<double>& layer,
                          std::size_t head, std::size_t head_dim) {
  const auto rows = [&](const Tensor<double>& packed) {
    return slice(Variable<double>(packed), 0, head * head_dim, (head + 1) * head_dim);
  };
  const Variable<double> q = linear(x, rows(layer.w_q()));
  const Variable<double> k = linear(x, rows(layer.w_k()));
  const Variable<double> v = linear(x, rows(layer.w_v()));
  const Variable<double> scores = scale(matmul(q, k, false, true), 1 / std::sqrt(double(head_dim)));
  return matmul(softmax(scores), v);
}

TEST(MultiHeadAttention, S0_5_PackedEqualsHeadByHead) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 12, .heads = 3});
  const Variable<double> x(random_tensor({2, 5, 12}, kRng));
  std::vector<Variable<double>> heads;
  for (std::size_t head = 0; head < 3; ++head) heads.push_back(one_head(x, layer, head, 4));
  const Variable<double> expected = linear(concat(heads, 2), parameters.at("a.out_proj.weight"),
                                           parameters.at("a.out_proj.bias"));
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), expected.value(), 1e-12);
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

TEST(MultiHeadAttention, S0_11_HeadDimNeedNotDivideTheWidth) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a",
                                         {.width = 5, .heads = 2, .head_dim = 3});
  const Variable<double> x(random_tensor({2, 4, 5}, kRng));
  EXPECT_EQ(layer(x, {}, {}).shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(parameters.at("a.in_proj_weight").shape(), (Shape{18, 5}));
  EXPECT_EQ(parameters.at("a.out_proj.weight").shape(), (Shape{5, 6}));
}

TEST(MultiHeadAttention, S0_12_S0_13_ParametersOfTheBook) {
  Parameters<float> parameters(1);
  const MultiHeadAttention<float> layer(parameters.root() / "a", {.width = 384, .heads = 3});
  EXPECT_EQ(parameters.count(), test::worked_example("S0.12.parameters")());
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
