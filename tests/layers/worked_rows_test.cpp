// Statements about attention and blocks that hold across layers, one test a row.
#include <gtest/gtest.h>

#include <xgrad/layers/attention.hpp>
#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/encoder.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad {

namespace {

using test::random_tensor;

const Rng kRng(5);

// softmax(q K^T scale) V for one query, with plain loops and exp.
std::vector<double> attend(const Tensor<double>& q, const Tensor<double>& k,
                           const Tensor<double>& v, std::size_t query, double scale) {
  std::vector<double> weights, output(v.shape()[2]);
  double sum = 0;
  for (std::size_t j = 0; j < k.shape()[1]; ++j) {
    double score = 0;
    for (std::size_t c = 0; c < k.shape()[2]; ++c) score += q(0, query, c) * k(0, j, c);
    weights.push_back(std::exp(scale * score));
    sum += weights.back();
  }
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t c = 0; c < output.size(); ++c) output[c] += weights[j] / sum * v(0, j, c);
  }
  return output;
}

}  // namespace

// All rows at once equal one row after the other, with the exponential of the score as its weight.
TEST(WorkedRows, S4_17_S4_20_ParallelEqualsALoop) {
  const auto q = random_tensor({1, 6, 4}, kRng / 1), k = random_tensor({1, 5, 4}, kRng / 2),
             v = random_tensor({1, 5, 3}, kRng / 3);
  const Variable<double> y =
      attention(Variable<double>(q), Variable<double>(k), Variable<double>(v), {});
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<double> expected = attend(q, k, v, i, 0.5);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(y.value()(0, i, c), expected[c], 1e-15);
  }
}

TEST(WorkedRows, S4_16_AScoreFarAboveTheOthersPicksItsValue) {
  Tensor<double> k = random_tensor({1, 5, 4}, kRng / 2);
  const Variable<double> v(random_tensor({1, 5, 3}, kRng / 3));
  for (std::size_t c = 0; c < 4; ++c) k(0, 2, c) = 100;
  const auto y = attention(Variable<double>(test::random_tensor({1, 1, 4}, kRng, 1, 2)),
                           Variable<double>(k), v, {});
  EXPECT_TENSOR_NEAR(y.value(), slice(v, 1, 2, 3).value(), 1e-15);
}

// (B,N,D) -> (B,N,3 H d) -> scores (B,H,N,N) -> (B,N,H d) -> (B,N,D)
TEST(WorkedRows, S0_15_ShapesOnTheWayThroughAttention) {
  constexpr std::size_t B = 2, N = 5, D = 12, H = 3, d = 4;
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = D, .heads = H});
  const Variable<double> x(random_tensor({B, N, D}, kRng));
  const auto qkv = linear(x, Variable<double>(parameters.at("a.in_proj_weight").value()));
  EXPECT_EQ(qkv.shape(), (Shape{B, N, 3 * H * d}));
  const auto q = slice(qkv, 2, 0, H * d), k = slice(qkv, 2, H * d, 2 * H * d);
  EXPECT_EQ(attention_scores(q.value(), k.value(), {.heads = H}).shape(), (Shape{B, H, N, N}));
  const auto y = self_attention(qkv, {.heads = H});
  EXPECT_EQ(y.shape(), (Shape{B, N, H * d}));
  EXPECT_EQ(layer(x, {}, {}).shape(), (Shape{B, N, D}));
}

// Concat(head_1 ... head_H) W_O, each head with affine maps of its own rows.
TEST(WorkedRows, S2_11_S3_9_HeadsAreJoinedAndProjected) {
  constexpr std::size_t H = 3, d = 2, D = 6;
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a",
                                         {.width = D, .heads = H, .qkv_bias = true});
  const Variable<double> x(random_tensor({2, 4, D}, kRng));
  const Variable<double> weight(parameters.at("a.in_proj_weight").value());
  const Variable<double> bias(random_tensor({3 * D}, kRng / "bias"));
  parameters.at("a.in_proj_bias").mutable_value() = bias.value();
  std::vector<Variable<double>> heads;
  for (std::size_t h = 0; h < H; ++h) {
    const auto part = [&](std::size_t third) {
      const std::size_t begin = third * D + h * d;
      return linear(x, slice(weight, 0, begin, begin + d), slice(bias, 0, begin, begin + d));
    };
    heads.push_back(attention(part(0), part(1), part(2), {}));
  }
  const auto joined =
      linear(concat(heads, 2), Variable<double>(parameters.at("a.out_proj.weight").value()),
             Variable<double>(parameters.at("a.out_proj.bias").value()));
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), joined.value(), 1e-14);
}

// Tokens become vectors by one function for all places.
TEST(WorkedRows, S3_1_TheInputEmbeddingIsTheSameAtEveryPlace) {
  Parameters<double> parameters(1);
  const Embedding<double> embed(parameters.root() / "e", 5, 4);
  Ids ids = empty<std::int32_t>({1, 3});
  ids(0, 0) = 2, ids(0, 1) = 4, ids(0, 2) = 2;
  const Tensor<double> x = embed(ids).value();
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(x(0, 0, c), x(0, 2, c));
}

// Blocks take hidden layers as they take inputs, so they stack to any depth.
TEST(WorkedRows, S4_11_AttentionReadsAHiddenLayer) {
  Parameters<double> parameters(1);
  EncoderOptions options;
  options.attention = {.width = 6, .heads = 2};
  const EncoderBlock<double> first(parameters.root() / "1", options),
      second(parameters.root() / "2", options);
  const Variable<double> x(random_tensor({2, 4, 6}, kRng), true);
  const auto y = second(first(x, {}, {}), {}, {});
  EXPECT_EQ(y.shape(), x.shape());
  sum(mul(y, y)).backward();
  EXPECT_TRUE(x.has_grad());
}

// Blocks of 3 and of 8 heads are both written down somewhere; the config says which.
TEST(WorkedRows, S1_12_HeadsAreAnOption) {
  for (const std::size_t heads : {3, 8}) {
    Parameters<float> parameters(1);
    const MultiHeadAttention<float> layer(parameters.root() / "a", {.width = 384, .heads = heads});
    EXPECT_EQ(layer.w_q().shape(), (Shape{384, 384}));
  }
}

// A block's call has a value: its output.
TEST(WorkedRows, S1_11_ABlockReturnsItsOutput) {
  using Result = decltype(std::declval<const EncoderBlock<float>&>()(
      std::declval<const Variable<float>&>(), Attend<float>{}, Context{}));
  static_assert(std::is_same_v<Result, Variable<float>>);
}

}  // namespace xgrad
