// What attention hides and adds: every mask, the bias, and rows that see nothing. S2.10.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "autograd/ops/attention_reference.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::shared_ptr<const Mask> shared(const Mask& mask) {
  return std::make_shared<Mask>(mask);
}

// Lets every query see its own key, and others at random.
std::shared_ptr<const Mask> full_mask(const Shape& shape, const Rng& rng) {
  Mask mask = random_mask(shape, rng, 0.5);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t i = 0; i < shape[1]; ++i) mask(b, i, i % shape[2]) = 1;
  }
  return shared(mask);
}

struct Result {
  Tensor<double> y;
  std::vector<Tensor<double>> gradients;
};

template <class F>
Result run(const std::vector<Tensor<double>>& inputs, const F& f) {
  std::vector<V> x;
  for (const auto& input : inputs) x.emplace_back(input, true);
  const V y = f(x);
  y.backward(random_tensor(y.shape(), Rng(77)));
  Result result{y.value(), {}};
  for (const V& leaf : x) result.gradients.push_back(leaf.grad());
  return result;
}

void expect_near(const Result& a, const Result& b, double tolerance) {
  EXPECT_TENSOR_NEAR(a.y, b.y, tolerance);
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    EXPECT_TRUE(tensors_near(a.gradients[i], b.gradients[i], tolerance)) << "input " << i;
  }
}

// Against the same out of plain ops, which stores all scores.
void expect_explicit(AttentionOptions options, std::size_t n, std::size_t m,
                     const Shape& bias_shape) {
  const std::size_t batch = 2, heads = 2;
  options.heads = heads;
  const std::vector<Tensor<double>> inputs{
      random_tensor({batch, n, 6}, Rng(1)), random_tensor({batch, m, 6}, Rng(2)),
      random_tensor({batch, m, 4}, Rng(3)), random_tensor(bias_shape, Rng(4), -2, 2)};
  const Result fused =
      run(inputs, [&](const auto& x) { return attention(x[0], x[1], x[2], options, x[3]); });
  const Result plain = run(inputs, [&](const auto& x) {
    const V bias = add(x[3], V(zeros<double>({batch, heads, n, m})));
    std::vector<V> parts;
    for (std::size_t h = 0; h < heads; ++h) {
      parts.push_back(
          explicit_head(slice(x[0], 2, 3 * h, 3 * h + 3), slice(x[1], 2, 3 * h, 3 * h + 3),
                        slice(x[2], 2, 2 * h, 2 * h + 2), options, h, select(bias, 1, h)));
    }
    return concat(parts, 2);
  });
  expect_near(fused, plain, 1e-13);
}

}  // namespace

TEST(AttentionMask, S2_10_EveryFormIsTheExplicitOne) {
  const auto full = full_mask({2, 70, 70}, Rng(5));
  const Shape scores{2, 2, 70, 70};
  expect_explicit({}, 70, 70, scores);
  expect_explicit({.masks = {.mask = full}}, 70, 70, scores);
  expect_explicit({.causal = true}, 70, 70, scores);
  expect_explicit({.exclude_self = true}, 70, 70, scores);
  expect_explicit({.masks = {.mask = full}, .dropout = {.p = 0.3, .rng = Rng(6)}}, 70, 70, scores);
  expect_explicit({.causal = true, .dropout = {.p = 0.3, .rng = Rng(6)}}, 300, 300, {300, 300});
  expect_explicit({.causal = true}, 5, 300, {1, 2, 1, 300});
  expect_explicit({.causal = true}, 300, 5, {2, 1, 300, 5});
  expect_explicit({.masks = {.mask = full_mask({2, 3, 9}, Rng(7))}, .exclude_self = true}, 3, 9,
                  {9});
}

TEST(AttentionMask, S2_10_OnesAreNoMaskBitForBit) {
  const auto qkv = random_tensor({3, 37, 24}, Rng(1));
  const DropoutOptions dropout{.p = 0.2, .rng = Rng(3)};
  const auto with = [&](const std::shared_ptr<const Mask>& mask) {
    return run({qkv}, [&](const auto& x) {
      return self_attention(x[0], {.heads = 2, .masks = {.mask = mask}, .dropout = dropout});
    });
  };
  const Result none = with(nullptr), ones = with(shared(full<std::uint8_t>({3, 37, 37}, 1)));
  EXPECT_TRUE(same_bits(none.y, ones.y));
  EXPECT_TRUE(same_bits(none.gradients[0], ones.gradients[0]));
}

TEST(AttentionMask, S2_10_CausalIsTheLowerTriangle) {
  Mask triangle = full<std::uint8_t>({2, 200, 200}, 0);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 200; ++i) {
      for (std::size_t j = 0; j <= i; ++j) triangle(b, i, j) = 1;
    }
  }
  const auto qkv = random_tensor({2, 200, 12}, Rng(1));
  const auto with = [&](const AttentionOptions& options) {
    return run({qkv}, [&](const auto& x) { return self_attention(x[0], options); });
  };
  expect_near(with({.heads = 2, .causal = true}),
              with({.heads = 2, .masks = {.mask = shared(triangle)}}), 1e-14);
}

// A query sees no later token: whatever stands there, its output keeps its bits.
TEST(AttentionMask, S2_10_TheFutureDoesNotMatter) {
  const auto qkv = random_tensor({1, 100, 12}, Rng(1));
  auto other = qkv;
  for (std::size_t j = 60; j < 100; ++j) {
    for (std::size_t c = 0; c < 12; ++c) other(0, j, c) = 1e3;
  }
  const AttentionOptions options{.heads = 2, .causal = true};
  const auto before = slice(self_attention(V(qkv), options), 1, 0, 60).value();
  EXPECT_TRUE(same_bits(slice(self_attention(V(other), options), 1, 0, 60).value(), before));
}

TEST(AttentionMask, S2_10_ARowThatSeesNothingIsZeroWithFiniteGradients) {
  Mask mask = full<std::uint8_t>({1, 3, 3}, 1);
  for (std::size_t j = 0; j < 3; ++j) mask(0, 1, j) = 0;
  const auto q = random_tensor({1, 3, 2}, Rng(1));
  const std::vector<Tensor<double>> inputs{q, random_tensor({1, 3, 2}, Rng(2)),
                                           random_tensor({1, 3, 2}, Rng(3)),
                                           random_tensor({3, 3}, Rng(4))};
  const auto expect_row_1_zero = [&](const AttentionOptions& options,
                                     const std::vector<Tensor<double>>& x) {
    const Result result =
        run(x, [&](const auto& in) { return attention(in[0], in[1], in[2], options, in[3]); });
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(result.y(0, 1, c), 0);
      EXPECT_NE(result.y(0, 0, c), 0);
      EXPECT_EQ(result.gradients[0](0, 1, c), 0);
    }
    for (const auto& gradient : result.gradients) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        EXPECT_TRUE(std::isfinite(gradient.data()[i]));
      }
    }
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(result.gradients[3](1, j), 0);
  };
  expect_row_1_zero({.masks = {.mask = shared(mask)}}, inputs);
  auto hidden = inputs;
  for (std::size_t j = 0; j < 3; ++j) hidden[3](1, j) = -kInfinity;
  expect_row_1_zero({}, hidden);
  expect_row_1_zero({.dropout = {.p = 0.1, .rng = Rng(9)}}, hidden);
  // A token that does not see itself and stands alone sees nothing.
  const V one(random_tensor({2, 1, 6}, Rng(5)));
  EXPECT_TRUE(
      same_bits(self_attention(one, {.exclude_self = true}).value(), zeros<double>({2, 1, 2})));
}

TEST(AttentionMask, S2_10_HiddenWeightsAreZeroAndTheRestSumsToOne) {
  const auto q = random_tensor({2, 4, 6}, Rng(1)), k = random_tensor({2, 5, 6}, Rng(2));
  const AttentionOptions options{.heads = 2,
                                 .masks = {.key_mask = shared(random_mask({2, 5}, Rng(3))),
                                           .mask = full_mask({2, 4, 5}, Rng(4))},
                                 .exclude_self = true};
  const V bias(random_tensor({4, 5}, Rng(5)));
  const auto p = attention_probabilities(q, k, options, bias);
  for (std::size_t row = 0; row < 16; ++row) {
    const std::size_t b = row / 8, h = row / 4 % 2, i = row % 4;
    double sum = 0;
    bool any = false;
    for (std::size_t j = 0; j < 5; ++j) {
      const bool seen = sees(options, b, i, j);
      EXPECT_TRUE(seen || p(b, h, i, j) == 0);
      any = any || seen;
      sum += p(b, h, i, j);
    }
    EXPECT_NEAR(sum, any ? 1 : 0, 1e-15);
  }
  // With V = I the fused path returns the same map.
  Tensor<double> identity = zeros<double>({2, 5, 10});
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t b = 0; b < 2; ++b) identity(b, j, j) = identity(b, j, 5 + j) = 1;
  }
  const V y = attention(V(q), V(k), V(identity), options, bias);
  const V heads = transpose(reshape(y, {2, 4, 2, 5}), {0, 2, 1, 3});
  EXPECT_TENSOR_NEAR(heads.value(), p, 1e-15);
}

TEST(AttentionMask, S4_14_TheDiagonalIsKeptUnlessExcluded) {
  const auto x = random_tensor({1, 4, 6}, Rng(1));
  const auto with = attention_probabilities(x, x, {}),
             without = attention_probabilities(x, x, {.exclude_self = true});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GT(with(0, 0, i, i), 0);
    EXPECT_EQ(without(0, 0, i, i), 0);
    const double rest = 1 - with(0, 0, i, i);
    for (std::size_t j = 0; j < 4; ++j) {
      if (j == i) continue;
      EXPECT_NEAR(without(0, 0, i, j), with(0, 0, i, j) / rest, 1e-15);
    }
  }
}

TEST(AttentionMask, NamesTheMaskThatDoesNotFit) {
  const V x(zeros<double>({1, 3, 4}));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        attention(x, x, x, {.masks = {.mask = shared(full<std::uint8_t>({1, 3, 4}, 1))}});
      },
      "attention: mask: expected (1, 3, 3), got (1, 3, 4)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        attention(x, x, x, {}, V(zeros<double>({2, 1, 3, 3})));
      },
      "attention: bias: expected a shape that broadcasts to (1, 1, 3, 3), got (2, 1, 3, 3)"));
}

TEST(AttentionMask, ForInspectionNamesWhatDoesNotFit) {
  const AttentionOptions short_keys{.masks = {.key_mask = shared(full<std::uint8_t>({1, 3}, 1))}};
  const AttentionOptions short_rows{.masks = {.mask = shared(full<std::uint8_t>({1, 2, 4}, 1))}};
  const auto x = zeros<double>({1, 4, 6});
  const auto said = [&](const char* op, const char* what, const auto& call) {
    EXPECT_TRUE(throws_with<ShapeError>(call, std::string(op) + what));
  };
  for (const auto& [options, what] :
       {std::pair{short_keys, ": key_mask: expected (1, 4), got (1, 3)"},
        {short_rows, ": mask: expected (1, 4, 4), got (1, 2, 4)"}}) {
    said("attention_mask", what, [&] { attention_mask(options, 1, 4, 4); });
    said("attention_probabilities", what, [&] { attention_probabilities(x, x, options); });
  }
  for (const Shape& shape : {Shape{2, 1, 4, 4}, Shape{3}}) {
    said("attention_probabilities", ": ",
         [&] { attention_probabilities(x, x, {}, V(zeros<double>(shape))); });
  }
}

}  // namespace xgrad::test
