// Score functions, activations and masks of attention, against PyTorch and against each other.
#include <xgrad/layers/attention/weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <xgrad/layers/attention/attention.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;
using V = Variable<double>;

const Rng kRng = Rng(23) / "attention weights";

const test::Golden& golden() {
  static const test::Golden file("attention.txt");
  return file;
}

const std::vector<std::pair<std::string, AttentionActivation>> kActivations = {
    {"softmax", AttentionActivation::softmax},
    {"relu", AttentionActivation::relu},
    {"squared_relu", AttentionActivation::squared_relu},
    {"sigmoid", AttentionActivation::sigmoid},
    {"sparsemax", AttentionActivation::sparsemax}};

std::shared_ptr<const Mask> shared(const Mask& mask) {
  return std::make_shared<Mask>(mask);
}

// Values and gradients of the file's case.
void expect_golden(const std::string& name, const AttentionWeightOptions& kind,
                   std::optional<double> scale = std::nullopt) {
  std::vector<V> x;
  std::vector<std::string> names{"q", "k", "v"};
  if (kind.score == Score::additive) names.push_back("w");
  for (const std::string& input : names) x.emplace_back(golden()(name + "." + input), true);
  const AttentionOptions options{
      .heads = 2, .scale = scale, .masks = {.key_mask = shared(golden().mask(name + ".key_mask"))}};
  const V y = attend_values(x[0], x[1], x[2], kind, options, {}, x.size() > 3 ? x[3] : V());
  EXPECT_TRUE(test::tensors_near(y.value(), golden()(name + ".y"), 1e-13, 1e-12)) << name;
  y.backward(golden()(name + ".dy"));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(test::tensors_near(x[i].grad(), golden()(name + ".d" + names[i]), 1e-12, 1e-12))
        << name << ", d" << names[i];
  }
}

struct Inputs {
  V q, k, v, additive;
};

Inputs random_inputs(std::size_t batch, std::size_t queries, std::size_t keys) {
  return {V(random_tensor({batch, queries, 6}, kRng / "q")),
          V(random_tensor({batch, keys, 6}, kRng / "k")),
          V(random_tensor({batch, keys, 6}, kRng / "v")), V(random_tensor({2, 3}, kRng / "w"))};
}

// Every pair of score and activation, with each of the ways in which the number of keys counts.
std::vector<AttentionWeightOptions> every_kind() {
  std::vector<AttentionWeightOptions> all;
  for (const Score score : {Score::dot, Score::cosine, Score::additive}) {
    for (const auto& [name, activation] : kActivations) {
      for (const bool counts : {false, true}) {
        all.push_back({.score = score,
                       .activation = activation,
                       .temperature = 0.7,
                       .log_scale = counts,
                       .mean = counts});
      }
    }
  }
  return all;
}

}  // namespace

TEST(AttentionWeights, S4_13_S4_15_EveryActivationAsTorch) {
  for (const auto& [name, activation] : kActivations) {
    expect_golden("dot." + name, {.activation = activation}, 0.5);
    expect_golden("mean." + name, {.activation = activation, .mean = true}, 0.5);
    expect_golden("additive." + name, {.score = Score::additive, .activation = activation});
  }
}

TEST(AttentionWeights, S2_9_CosineScoresAsTorch) {
  expect_golden("cosine.softmax", {.score = Score::cosine});  // sqrt(4) = 2
  expect_golden("cosine.relu", {.score = Score::cosine, .activation = AttentionActivation::relu});
}

TEST(AttentionWeights, ScoresTimesTheLogOfTheLengthAsTorch) {
  expect_golden("log_scale.softmax", {.log_scale = true}, 0.5);
  expect_golden("log_scale.sigmoid",
                {.activation = AttentionActivation::sigmoid, .log_scale = true}, 0.5);
}

// The keys' norms do not count, nor the queries'.
TEST(AttentionWeights, S2_9_CosineScoresDoNotDependOnNorms) {
  const Inputs x = random_inputs(1, 3, 4);
  const AttentionWeightOptions kind{.score = Score::cosine};
  const auto weights = [&](double a, double b) {
    return attention_weights(scale(x.q, a), scale(x.k, b), kind, {.heads = 2}).value();
  };
  EXPECT_TENSOR_NEAR(weights(100, 0.25), weights(1, 1), 1e-10);
  EXPECT_FALSE(test::tensors_near(
      attention_weights(scale(x.q, 100.0), x.k, {}, {.heads = 2}).value(), weights(1, 1), 1e-2));
}

// Without a scale: the scores of S4.12 are the dot products themselves.
TEST(AttentionWeights, S4_12_DotWithScaleOne) {
  const Inputs x = random_inputs(2, 3, 4);
  const auto weights = attention_weights(x.q, x.k, {}, {.heads = 2, .scale = 1});
  const auto scores = attention_scores(x.q.value(), x.k.value(), {.heads = 2, .scale = 1});
  EXPECT_TENSOR_NEAR(weights.value(), softmax(V(scores)).value(), 1e-15);
}

TEST(AttentionWeights, S0_8_DefaultScales) {
  EXPECT_EQ(score_factor({}, {}, 16), 0.25);
  EXPECT_EQ(score_factor({.temperature = 2}, {}, 16), 0.125);
  EXPECT_EQ(score_factor({}, 3, 16), 3);
  EXPECT_EQ(score_factor({.score = Score::cosine}, {}, 16), 0.25);  // of vectors of length 4
  EXPECT_EQ(score_factor({.score = Score::cosine}, 8, 16), 0.5);
  EXPECT_EQ(score_factor({.score = Score::additive}, {}, 16), 1);
}

// w.tanh([W_1 W_2] [x_i; x_j]) = w.tanh(W_1 x_i + W_2 x_j), with the joined vectors written out.
TEST(AttentionWeights, S4_13_ConcatFormEqualsSumForm) {
  const std::size_t n = 4, d = 5, a = 3;
  const V x(random_tensor({1, n, d}, kRng / "x")), w1(random_tensor({a, d}, kRng / "w1")),
      w2(random_tensor({a, d}, kRng / "w2")), w(random_tensor({1, a}, kRng / "w"));
  const V s = additive_scores(linear(x, w1), linear(x, w2), w);
  const V both = concat<double>({w1, w2}, 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const V joined = concat<double>({select(x, 1, i), select(x, 1, j)}, 1);
      const V score = sum(mul(w, tanh(linear(joined, both))));
      EXPECT_NEAR(s.value()(0, 0, i, j), score.value()(), 1e-14);
    }
  }
}

// The unfused path is the fused one where both exist.
TEST(AttentionWeights, StoredWeightsAreThoseOfTheFusedPath) {
  const Inputs x = random_inputs(2, 5, 5);
  const V bias(random_tensor({2, 5, 5}, kRng / "bias"));
  for (const Score score : {Score::dot, Score::cosine}) {
    for (const bool log_scale : {false, true}) {
      const AttentionWeightOptions kind{.score = score, .temperature = 0.5, .log_scale = log_scale};
      ASSERT_TRUE(is_fused(kind));
      const AttentionOptions options{.heads = 2,
                                     .masks = {.key_mask = shared(test::random_mask({2, 5}, kRng))},
                                     .causal = true};
      const V p = attention_weights(x.q, x.k, kind, options, bias);
      const V v = transpose(reshape(x.v, {2, 5, 2, 3}), {0, 2, 1, 3});
      const V expected = reshape(transpose(matmul(p, v), {0, 2, 1, 3}), {2, 5, 6});
      EXPECT_TENSOR_NEAR(attend_values(x.q, x.k, x.v, kind, options, bias).value(),
                         expected.value(), 1e-14);
    }
  }
}

// A query that sees nothing weighs nothing, whatever makes the weights; relu may weigh nothing of
// itself. All stays finite.
TEST(AttentionWeights, S2_10_S4_15_RowsWithoutKeysAreZeroAndFinite) {
  const Inputs x = random_inputs(2, 3, 4);
  Mask mask = full<std::uint8_t>({2, 3, 4}, 1);
  for (std::size_t j = 0; j < 4; ++j) mask(1, 2, j) = 0;
  for (const AttentionWeightOptions& kind : every_kind()) {
    const V q(x.q.value(), true), k(x.k.value(), true), v(x.v.value(), true);
    const V y =
        attend_values(q, k, v, kind, {.heads = 2, .masks = {.mask = shared(mask)}}, {}, x.additive);
    y.backward(full({2, 3, 6}, 1.0));
    for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(y.value()(1, 2, c), 0);
    for (const V& leaf : {q, k, v}) {
      for (std::size_t i = 0; i < leaf.grad().size(); ++i) {
        EXPECT_TRUE(std::isfinite(leaf.grad().data()[i]));
      }
    }
  }
  const V none = attention_weights(V(full({1, 2, 6}, 1.0)), V(full({1, 2, 6}, -1.0)),
                                   {.activation = AttentionActivation::relu}, {.heads = 2});
  EXPECT_TENSOR_NEAR(none.value(), zeros<double>({1, 2, 2, 2}), 0);
}

// Masked weights are exactly 0, and a mask of ones is none, bit for bit, in every kind.
TEST(AttentionWeights, S2_10_MasksInEveryKind) {
  const Inputs x = random_inputs(2, 4, 4);
  const Mask some = test::random_mask({2, 4, 4}, kRng / "some", 0.5);
  for (const AttentionWeightOptions& kind : every_kind()) {
    const auto weights = [&](const Mask& mask) {
      const AttentionOptions options{.heads = 2, .masks = {.mask = shared(mask)}};
      return attention_weights(x.q, x.k, kind, options, {}, x.additive).value();
    };
    const auto none = attention_weights(x.q, x.k, kind, {.heads = 2}, {}, x.additive).value();
    EXPECT_TRUE(test::same_bits(weights(full<std::uint8_t>({2, 4, 4}, 1)), none));
    const auto masked = weights(some);
    for (std::size_t i = 0; i < masked.size(); ++i) {
      const std::size_t b = i / 32, pair = i % 16;
      EXPECT_TRUE(some.data()[16 * b + pair] || masked.data()[i] == 0);
    }
  }
}

// Sharper with every factor on the scores.
TEST(AttentionWeights, S2_9_TemperatureSharpens) {
  const Inputs x = random_inputs(1, 3, 5);
  double before = 1e9;
  for (const double temperature : {4.0, 2.0, 1.0, 0.5, 0.1}) {
    const auto p = attention_weights(x.q, x.k, {.temperature = temperature}, {.heads = 2}).value();
    double entropy = 0;
    for (std::size_t i = 0; i < p.size(); ++i) entropy -= p.data()[i] * std::log(p.data()[i]);
    EXPECT_LT(entropy, before);
    before = entropy;
  }
}

// Chiang & Cholak 2022: with log n the weight of one key that stands out by a fixed score does not
// vanish in a long sequence.
TEST(AttentionWeights, LogScaleHoldsOnToOneKeyAmongMany) {
  const auto weight = [](std::size_t keys, bool log_scale) {
    Tensor<double> k = zeros<double>({1, keys, 1});
    k(0, 0, 0) = 1;
    const AttentionWeightOptions kind{.log_scale = log_scale};
    return attention_weights(V(full({1, 1, 1}, 1.0)), V(k), kind, {.scale = 2}).value()(0, 0, 0, 0);
  };
  for (const std::size_t keys : {10u, 100u, 1000u}) {
    const double n = double(keys);
    EXPECT_NEAR(weight(keys, true), n * n / (n * n + n - 1), 1e-12);
    EXPECT_NEAR(weight(keys, false), std::exp(2) / (std::exp(2) + n - 1), 1e-12);
  }
}

// 200 cases of them in all, each of other numbers.
TEST(AttentionWeights, S4_13_S4_15_GradientsOfEveryKind) {
  const auto kinds = every_kind();
  for (std::size_t trial = 0, cases = 0; cases < 200; ++trial) {
    const AttentionWeightOptions& kind = kinds[trial % kinds.size()];
    const Rng rng = kRng / trial;
    if (kind.activation == AttentionActivation::sparsemax) continue;  // kinks; its op is checked
    ++cases;
    const bool kinked = kind.activation == AttentionActivation::relu ||
                        kind.activation == AttentionActivation::squared_relu;
    const V bias(full({1, 2, 3}, kinked ? 3.0 : 0.0));  // above the kink
    const AttentionOptions options{
        .heads = 2, .exclude_self = true, .dropout = {.p = 0.2, .rng = rng}};
    std::vector<Tensor<double>> inputs{random_tensor({1, 2, 4}, rng / 1),
                                       random_tensor({1, 3, 4}, rng / 2),
                                       random_tensor({1, 3, 2}, rng / 3)};
    if (kind.score == Score::additive) inputs.push_back(random_tensor({2, 2}, rng / 4));
    EXPECT_TRUE(test::gradients_agree(
        [&]<class T>(const std::vector<Variable<T>>& in) {
          const Variable<T> at(cast<T>(bias.value()));
          const Variable<T> additive = in.size() > 3 ? in[3] : Variable<T>();
          return attend_values(in[0], in[1], in[2], kind, options, at, additive);
        },
        inputs))
        << int(kind.score) << ' ' << int(kind.activation) << ' ' << kind.mean;
  }
}

}  // namespace xgrad
