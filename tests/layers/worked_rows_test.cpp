// Statements about attention and blocks that hold across layers, one test a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/layers/attention/attention.hpp>
#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/models/encoder.hpp>

#include "layers/models.hpp"
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

// The name and the shape of what each op gives.
struct Results final : OpObserver {
  using List = std::vector<std::pair<std::string, Shape>>;
  void end(const OpCall& call) override { list.emplace_back(call.name, call.result.shape); }
  List list;
};

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

// (B,N,D) -> (B,N,3 H d) -> (B,N,H d) -> (B,N,D); where somebody looks at the maps, queries and
// keys (B,N,H d) -> (B,N,H,d) -> (B,H,N,d) -> scores (B,H,N,N). All are what the layer itself
// computes.
TEST(WorkedRows, S0_15_ShapesOnTheWayThroughAttention) {
  constexpr std::size_t B = 2, N = 5, D = 12, H = 3, d = 2;
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a",
                                         {.width = D, .heads = H, .head_dim = d});
  const Variable<double> x(random_tensor({B, N, D}, kRng));
  Results results;
  test::HeadObserver<double> observer;
  const ScopedObserver observing(results);
  layer(x, {}, {});
  EXPECT_EQ(results.list, (Results::List{{"linear", {B, N, 3 * H * d}},
                                         {"self_attention", {B, N, H * d}},
                                         {"linear", {B, N, D}}}));

  results.list.clear();
  layer(x, {}, observer.context());
  Results::List expected;
  for (int part = 0; part < 3; ++part) {
    expected.push_back({"slice", {H * d, D}});
    expected.push_back({"linear", {B, N, H * d}});
  }
  for (int part = 0; part < 2; ++part) {
    expected.push_back({"reshape", {B, N, H, d}});
    expected.push_back({"transpose", {B, H, N, d}});
  }
  for (const char* op : {"matmul", "scale", "softmax"}) expected.push_back({op, {B, H, N, N}});
  expected.push_back({"reshape", {B, N, H, d}});
  expected.push_back({"transpose", {B, H, N, d}});
  expected.push_back({"matmul", {B, H, N, d}});
  expected.push_back({"transpose", {B, N, H, d}});
  expected.push_back({"reshape", {B, N, H * d}});
  expected.push_back({"linear", {B, N, D}});
  EXPECT_EQ(results.list, expected);
  EXPECT_EQ(observer.maps.front().shape(), (Shape{B, H, N, N}));
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

// The two tokens of the example become a_1 = (1, 1) and a_2 = (1, 0): token i becomes row i of the
// weight, wherever it stands, and no other row.
TEST(WorkedRows, S3_1_ATokenBecomesItsRowOfTheEmbedding) {
  Parameters<double> parameters(1);
  const Embedding<double> embed(parameters.root() / "e", 3, 2);
  const Tensor<double> start = parameters.at("e.weight").value();
  for (std::size_t i = 0; i < start.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(start.data()[i], start.data()[j]);
  }
  parameters.at("e.weight").mutable_value() = test::tensor({3, 2}, {1, 1, 1, 0, 7, 9});
  Ids ids = empty<std::int32_t>({2, 3});
  std::iota(ids.data(), ids.data() + 3, 0);
  std::iota(ids.data() + 3, ids.data() + 6, 0);
  std::reverse(ids.data() + 3, ids.data() + 6);
  EXPECT_TENSOR_NEAR(embed(ids).value(),
                     test::tensor({2, 3, 2}, {1, 1, 1, 0, 7, 9, 7, 9, 1, 0, 1, 1}), 0);
}

// A block's call has a value: its output.
TEST(WorkedRows, S1_11_ABlockReturnsItsOutput) {
  using Result = decltype(std::declval<const EncoderBlock<float>&>()(
      std::declval<const Variable<float>&>(), AttentionMasks{}, Context{}));
  static_assert(std::is_same_v<Result, Variable<float>>);
}

}  // namespace xgrad
