// Attention between two sequences, and what MultiHeadAttention can be told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include <xgrad/layers/attention/attention.hpp>

#include "layers/models.hpp"
#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;
using V = Variable<double>;

const Rng kRng = Rng(29) / "cross-attention";

// The parameters of a layer drawn anew, so that biases and small scores are not special.
template <class T>
void randomize(const Parameters<T>& parameters) {
  for (const Parameter<T>& p : parameters) {
    p.variable.mutable_value() = cast<T>(random_tensor(p.variable.shape(), kRng / p.name));
  }
}

// The gradients of all parameters of a layer with these options, and of its inputs.
template <class T>
struct Problem {
  Problem(const MultiHeadAttentionOptions& options, const std::vector<Tensor<double>>& inputs,
          const std::shared_ptr<const Mask>& key_mask)
      : parameters(1), layer(parameters.root() / "a", options) {
    randomize(parameters);
    gradient.leaves.assign(parameters.begin(), parameters.end());
    for (const auto& input : inputs) {
      x.emplace_back(cast<T>(input), true);
      gradient.leaves.push_back({"input " + std::to_string(x.size()), x.back()});
    }
    gradient.f = [this, key_mask] {
      const Context context{true, kRng, 0};
      return x.size() == 1 ? layer(x[0], {key_mask}, context)
                           : layer(x[0], x[1], x[2], {key_mask}, context);
    };
  }

  Parameters<T> parameters;
  MultiHeadAttention<T> layer;
  std::vector<Variable<T>> x;
  GradientProblem<T> gradient;
};

void expect_gradients(const MultiHeadAttentionOptions& options,
                      const std::vector<Tensor<double>>& inputs,
                      const std::shared_ptr<const Mask>& key_mask = nullptr) {
  const Problem<double> problem(options, inputs, key_mask);
  const Problem<long double> reference(options, inputs, key_mask);
  const GradientReport report = check_gradients(problem.gradient, reference.gradient,
                                                {.tolerance = 1e-11, .entry_tolerance = 1e-9});
  EXPECT_TRUE(report.ok()) << report.table();
}

std::shared_ptr<const Mask> shared(const Mask& mask) {
  return std::make_shared<Mask>(mask);
}

}  // namespace

// nn.MultiheadAttention with kdim and vdim, a key padding mask and a bias on the scores.
TEST(CrossAttention, S2_2_S2_11_AsTorch) {
  const test::Golden golden("attention.txt");
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "cross",
      {.width = 8, .heads = 2, .key_width = 6, .value_width = 4, .qkv_bias = true});
  for (const Parameter<double>& p : parameters) {
    std::string name = p.name;
    std::replace(name.begin() + 6, name.end(), '.', '_');
    p.variable.mutable_value() = golden(name);
  }
  std::vector<V> x;
  for (const char* name : {"query", "key", "value", "bias"}) {
    x.emplace_back(golden(std::string("cross.") + name), true);
  }
  const AttentionMasks masks{.key_mask = shared(golden.mask("cross.key_mask"))};
  const V y = layer(x[0], x[1], x[2], masks, {}, x[3]);
  EXPECT_TENSOR_NEAR(y.value(), golden("cross.y"), 1e-13);
  y.backward(golden("cross.dy"));
  EXPECT_TENSOR_NEAR(x[0].grad(), golden("cross.dquery"), 1e-13);
  EXPECT_TENSOR_NEAR(x[1].grad(), golden("cross.dkey"), 1e-13);
  EXPECT_TENSOR_NEAR(x[2].grad(), golden("cross.dvalue"), 1e-13);
  EXPECT_TENSOR_NEAR(x[3].grad(), golden("cross.dbias"), 1e-13);
  EXPECT_EQ(parameters.at("cross.k_proj_weight").shape(), (Shape{8, 6}));
  for (const Parameter<double>& p : parameters) {
    std::string name = "cross.d" + p.name.substr(6);
    std::replace(name.begin() + 6, name.end(), '.', '_');
    EXPECT_TENSOR_NEAR(p.variable.grad(), golden(name), 1e-12) << p.name;
  }
}

TEST(CrossAttention, S2_2_GradientsWhereAllSizesDiffer) {  // N = 3, M = 5, d_K = 2, d_V = 4
  const MultiHeadAttentionOptions options{.width = 6,
                                          .heads = 2,
                                          .head_dim = 2,
                                          .value_dim = 4,
                                          .key_width = 5,
                                          .value_width = 3,
                                          .dropout = 0.2,
                                          .qkv_bias = true};
  Mask mask = full<std::uint8_t>({2, 5}, 1);
  mask(1, 3) = mask(1, 4) = 0;
  expect_gradients(options,
                   {random_tensor({2, 3, 6}, kRng / 1), random_tensor({2, 5, 5}, kRng / 2),
                    random_tensor({2, 5, 3}, kRng / 3)},
                   shared(mask));
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", options);
  EXPECT_EQ(parameters.at("a.q_proj_weight").shape(), (Shape{4, 6}));
  EXPECT_EQ(parameters.at("a.k_proj_weight").shape(), (Shape{4, 5}));
  EXPECT_EQ(parameters.at("a.v_proj_weight").shape(), (Shape{8, 3}));
  EXPECT_EQ(parameters.at("a.in_proj_bias").shape(), (Shape{16}));
  EXPECT_EQ(parameters.at("a.out_proj.weight").shape(), (Shape{6, 8}));
  EXPECT_EQ(layer.w_v().shape(), (Shape{8, 3}));
}

// Rotary positions in plain loops: the features 2f and 2f + 1 of a head at place n, as a complex
// number, are multiplied by exp(i n 10000^(-2f/d)).
Tensor<double> turned(const Tensor<double>& x, std::size_t head_dim) {
  Tensor<double> y = x;
  for (std::size_t b = 0; b < x.shape()[0]; ++b) {
    for (std::size_t n = 0; n < x.shape()[1]; ++n) {
      for (std::size_t c = 0; c < x.shape()[2]; c += 2) {
        const double angle = double(n) * std::pow(1e4, -double(c % head_dim) / double(head_dim));
        const auto z = std::complex(x(b, n, c), x(b, n, c + 1)) * std::polar(1.0, angle);
        y(b, n, c) = z.real();
        y(b, n, c + 1) = z.imag();
      }
    }
  }
  return y;
}

TEST(CrossAttention, RotaryPositionsOfBothSequences) {
  const MultiHeadAttentionOptions options{.width = 8,
                                          .heads = 2,
                                          .key_width = 5,
                                          .value_width = 3,
                                          .out_proj = false,
                                          .positions = PositionKind::rotary,
                                          .cross_positions = true};
  const Tensor<double> query = random_tensor({2, 3, 8}, kRng / 1),
                       key = random_tensor({2, 5, 5}, kRng / 2),
                       value = random_tensor({2, 5, 3}, kRng / 3);
  expect_gradients(options, {query, key, value});
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", options);
  const auto projected = [](const Tensor<double>& x, const Tensor<double>& weight) {
    return linear(V(x), V(weight)).value();
  };
  const V q(turned(projected(query, layer.w_q()), 4)), k(turned(projected(key, layer.w_k()), 4));
  const V expected = attention(q, k, V(projected(value, layer.w_v())), {.heads = 2});
  EXPECT_TENSOR_NEAR(layer(V(query), V(key), V(value), {}, {}).value(), expected.value(), 1e-14);
  // Cached for decoding, the last query alone.
  MultiHeadAttentionOptions packed = options;
  packed.key_width = packed.value_width = 0;
  const MultiHeadAttention<double> decoder(parameters.root() / "b", packed);
  const V x(query), memory(random_tensor({2, 5, 8}, kRng / 4));
  const Tensor<double> all = decoder(x, memory, memory, {}, {}).value(),
                       last = decoder
                                  .cross_decode_step(slice(x, 1, 2, 3), 2,
                                                     decoder.project_memory(memory), {})
                                  .value();
  EXPECT_TRUE(test::same_bits(last, slice(V(all), 1, 2, 3).value()));
}

TEST(CrossAttention, S2_2_PackedWeightsAttendToAnotherSequence) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a",
                                         {.width = 6, .heads = 2, .qkv_bias = true});
  randomize(parameters);
  const V x(random_tensor({2, 3, 6}, kRng / 1)), memory(random_tensor({2, 7, 6}, kRng / 2));
  const Tensor<double>& bias = parameters.at("a.in_proj_bias").value();
  const auto part = [&](const V& in, const Tensor<double>& weight, std::size_t begin) {
    return linear(in, V(weight), slice(V(bias), 0, begin, begin + 6));
  };
  const V heads = attention(part(x, layer.w_q(), 0), part(memory, layer.w_k(), 6),
                            part(memory, layer.w_v(), 12), {.heads = 2});
  const V expected =
      linear(heads, parameters.at("a.out_proj.weight"), parameters.at("a.out_proj.bias"));
  EXPECT_TENSOR_NEAR(layer(x, memory, memory, {}, {}).value(), expected.value(), 1e-14);
  expect_gradients({.width = 6, .heads = 2, .qkv_bias = true},
                   {x.value(), memory.value(), random_tensor({2, 7, 6}, kRng / 3)});
}

// Self-attention is the cross-attention of three copies, its gradient the sum over the three.
TEST(CrossAttention, S2_12_SelfIsCrossWithThreeCopies) {
  for (const bool separate : {false, true}) {
    const MultiHeadAttentionOptions options{
        .width = 6, .heads = 2, .value_dim = separate ? 2u : 0u, .dropout = 0.2, .qkv_bias = true};
    const Problem<double> self(options, {random_tensor({2, 4, 6}, kRng)}, nullptr);
    const Tensor<double> x = self.x[0].value();
    const Problem<double> cross(options, {x, x, x}, nullptr);
    const V y = self.gradient.f(), z = cross.gradient.f();
    EXPECT_TENSOR_NEAR(y.value(), z.value(), 1e-14);
    const Tensor<double> dy = random_tensor(y.shape(), kRng / "dy");
    y.backward(dy);
    z.backward(dy);
    const Tensor<double> sum = cross.x[0].grad() + cross.x[1].grad() + cross.x[2].grad();
    EXPECT_TENSOR_NEAR(self.x[0].grad(), sum, 1e-13);
    expect_gradients(options, {x});
  }
}

TEST(MultiHeadAttention, GradientsOfEveryScoreInALayer) {
  for (const Score score : {Score::dot, Score::cosine, Score::additive}) {
    MultiHeadAttentionOptions options{.width = 6, .heads = 2, .qkv_bias = true, .causal = true};
    options.weights = {.score = score, .temperature = 0.8, .log_scale = true};
    expect_gradients(options, {random_tensor({2, 4, 6}, kRng)});
    options.weights.activation = AttentionActivation::sigmoid;
    options.weights.mean = true;
    expect_gradients(options, {random_tensor({2, 4, 6}, kRng)});
  }
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "a", {.width = 6, .heads = 2, .weights = {.score = Score::additive}});
  EXPECT_EQ(parameters.at("a.score_weight").shape(), (Shape{2, 3}));
}

TEST(MultiHeadAttention, S4_19_OnlyThreeMatrices) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "a", {.width = 7, .heads = 1, .head_dim = 4, .out_proj = false});
  EXPECT_EQ(parameters.count(), 3u * 7 * 4);
  const V x(random_tensor({2, 3, 7}, kRng));
  const V expected = attention(linear(x, V(layer.w_q())), linear(x, V(layer.w_k())),
                               linear(x, V(layer.w_v())), {});
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), expected.value(), 1e-14);
}

// The weights that a layer shows are those it works with.
TEST(MultiHeadAttention, S0_6_S2_13_MapsOfALayer) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "a",
      {.width = 6, .heads = 2, .out_proj = false, .causal = true, .exclude_self = true});
  const V x(random_tensor({2, 4, 6}, kRng));
  const V maps = test::weights_of(layer, x);
  ASSERT_EQ(maps.shape(), (Shape{2, 2, 4, 4}));
  const V v = transpose(reshape(linear(x, V(layer.w_v())), {2, 4, 2, 3}), {0, 2, 1, 3});
  const V expected = reshape(transpose(matmul(maps, v), {0, 2, 1, 3}), {2, 4, 6});
  EXPECT_TENSOR_NEAR(layer(x, {}, {}).value(), expected.value(), 1e-14);
}

// Lectures that write tokens as columns: Q = W^q I, A = K^T Q, softmax by column, O = V A'.
TEST(MultiHeadAttention, S4_18_WeightsInColumnConvention) {
  const std::size_t d = 5, width = 3, n = 4;
  const auto matrix = [&](const char* name) { return random_tensor({width, d}, kRng / name); };
  const Tensor<double> wq = matrix("q"), wk = matrix("k"), wv = matrix("v");
  const V tokens(random_tensor({d, n}, kRng));
  const V q = matmul(V(wq), tokens), k = matmul(V(wk), tokens), v = matmul(V(wv), tokens);
  const V scores = matmul(k, q, true);  // (n, n), a column a query
  const V columns = transpose(softmax(transpose(scores, {1, 0})), {1, 0});
  const V expected = transpose(matmul(v, columns), {1, 0});

  const V x = reshape(transpose(tokens, {1, 0}), {1, n, d});
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(
      parameters.root() / "a",
      {.width = d, .heads = 1, .head_dim = width, .out_proj = false, .scale = 1});
  double* packed = parameters.at("a.in_proj_weight").mutable_value().data();
  for (const Tensor<double>& w : {wq, wk, wv}) packed = std::copy_n(w.data(), w.size(), packed);
  EXPECT_TENSOR_NEAR(reshape(layer(x, {}, {}), {n, width}).value(), expected.value(), 1e-14);
}

}  // namespace xgrad
