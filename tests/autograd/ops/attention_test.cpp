#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/ops.hpp>

#include "autograd/ops/attention_reference.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

std::shared_ptr<const Mask> mask_of(const Shape& shape,
                                    std::initializer_list<std::uint8_t> values) {
  return std::make_shared<Mask>(tensor<std::uint8_t>(shape, values));
}

// One head of a (B, N, H d) tensor.
V head(const V& x, std::size_t heads, std::size_t h) {
  const std::size_t d = x.shape()[2] / heads;
  return slice(x, 2, h * d, (h + 1) * d);
}

// Where the operands of all ops lie, those that were left out left out.
struct Operands final : OpObserver {
  void end(const OpCall& call) override {
    for (const Operand& operand : call.inputs) {
      if (operand.value != nullptr) read.push_back(operand.value);
    }
  }
  std::vector<const void*> read;
};

}  // namespace

TEST(Attention, S0_6_ScoresAreDotProducts) {
  const auto q = random_tensor({2, 3, 8}, Rng(1)), k = random_tensor({2, 4, 8}, Rng(2));
  const auto s = attention_scores(q, k, {.heads = 2, .scale = 1});
  ASSERT_EQ(s.shape(), (Shape{2, 2, 3, 4}));
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          double sum = 0;
          for (std::size_t c = 4 * h; c < 4 * h + 4; ++c) sum += q(b, i, c) * k(b, j, c);
          EXPECT_NEAR(s(b, h, i, j), sum, 1e-15);
        }
      }
    }
  }
}

// The fused path against the explicit one, values and gradients, one head at a time.
TEST(Attention, S0_6_S0_9_S0_10_FusedIsExplicit) {
  const std::size_t heads = 3;
  const AttentionOptions options{
      .heads = heads,
      .masks = {.key_mask = mask_of({2, 5}, {1, 1, 0, 1, 0, 0, 1, 1, 1, 1})},
      .dropout = {.p = 0.3, .rng = Rng(5), .first_sample = 7}};
  const std::vector<Tensor<double>> inputs{random_tensor({2, 4, 6}, Rng(1)),
                                           random_tensor({2, 5, 6}, Rng(2)),
                                           random_tensor({2, 5, 12}, Rng(3))};
  const auto dy = random_tensor({2, 4, 12}, Rng(4));
  std::vector<V> a, b;
  for (const auto& x : inputs) a.emplace_back(x, true), b.emplace_back(x, true);
  const auto fused = attention(a[0], a[1], a[2], options);
  std::vector<V> parts;
  for (std::size_t h = 0; h < heads; ++h) {
    parts.push_back(explicit_head(head(b[0], heads, h), head(b[1], heads, h), head(b[2], heads, h),
                                  options, h));
  }
  const auto plain = concat(parts, 2);
  EXPECT_TENSOR_NEAR(fused.value(), plain.value(), 1e-15);
  fused.backward(dy);
  plain.backward(dy);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TENSOR_NEAR(a[i].grad(), b[i].grad(), 1e-15);
}

// S0.6: the maps for inspection are those of the fused path: with V = I it returns them.
TEST(Attention, ProbabilitiesAreThoseOfTheFusedPath) {
  const auto q = random_tensor({2, 3, 4}, Rng(1)), k = random_tensor({2, 5, 4}, Rng(2));
  const AttentionOptions options{
      .masks = {.key_mask = mask_of({2, 5}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 0})}};
  Tensor<double> v = zeros<double>({2, 5, 5});
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t j = 0; j < 5; ++j) v(b, j, j) = 1;
  }
  const auto p = attention_probabilities(q, k, options);
  const auto y = attention(V(q), V(k), V(v), options).value();
  EXPECT_TENSOR_NEAR(reshape(V(p), {2, 3, 5}).value(), y, 1e-15);
}

// Var(q k) is d for standard normal entries and 1 after the default scale.
TEST(Attention, S0_8_ScaleKeepsTheVariance) {
  const std::size_t d = 64, n = 100000;
  const auto q = normal_tensor({n, 1, d}, Rng(1)), k = normal_tensor({n, 1, d}, Rng(2));
  const auto variance = [&](const AttentionOptions& options) {
    const auto s = attention_scores(q, k, options);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += s.data()[i], squares += s.data()[i] * s.data()[i];
    return squares / n - (sum / n) * (sum / n);
  };
  EXPECT_NEAR(variance({.scale = 1}), 64, 0.02 * 64);
  EXPECT_NEAR(variance({}), 1, 0.02);
}

TEST(Attention, S0_14_RateZeroIsNoDropout) {
  const V x(random_tensor({2, 5, 12}, Rng(1)));
  EXPECT_TRUE(same_bits(self_attention(x, {.dropout = {.p = 0, .rng = Rng(9)}}).value(),
                        self_attention(x, {}).value()));
}

TEST(Attention, S0_14_DropoutKeepsTheMean) {
  const V x(random_tensor({1, 4, 6}, Rng(1)));
  const auto expected = self_attention(x, {}).value();
  const std::size_t draws = 10000;
  Tensor<double> sum = zeros<double>(expected.shape()), squares = sum;
  for (std::size_t i = 0; i < draws; ++i) {
    const auto y = self_attention(x, {.dropout = {.p = 0.25, .rng = Rng(3) / i}}).value();
    for (std::size_t j = 0; j < y.size(); ++j) {
      sum.data()[j] += y.data()[j];
      squares.data()[j] += y.data()[j] * y.data()[j];
    }
  }
  for (std::size_t j = 0; j < sum.size(); ++j) {
    const double mean = sum.data()[j] / draws;
    const double sigma = std::sqrt((squares.data()[j] / draws - mean * mean) / draws);
    EXPECT_GT(sigma, 0);
    EXPECT_NEAR(mean, expected.data()[j], 3 * sigma);
  }
}

// With V = I the output is the dropped-out map: as in the published code its rows do not sum to 1.
TEST(Attention, S0_14_DroppedRowsDoNotSumToOne) {
  Tensor<double> v = zeros<double>({1, 8, 8});
  for (std::size_t j = 0; j < 8; ++j) v(0, j, j) = 1;
  const V x(random_tensor({1, 8, 8}, Rng(1)));
  const auto p = attention(x, x, V(v), {.dropout = {.p = 0.5, .rng = Rng(2)}}).value();
  double farthest = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 8; ++j) sum += p(0, i, j);
    farthest = std::max(farthest, std::fabs(sum - 1));
  }
  EXPECT_GT(farthest, 0.1);
}

TEST(Attention, S0_17_EveryOutputSeesEveryInput) {
  const std::size_t n = 5, d = 2;
  for (std::size_t i = 0; i < n; ++i) {
    const V x(random_tensor({1, n, 3 * d}, Rng(1)), true);
    Tensor<double> dy = zeros<double>({1, n, d});
    dy(0, i, 0) = 1;
    self_attention(x, {}).backward(dy);
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_NE(x.grad()(0, j, d), 0) << "key " << j;
      EXPECT_NE(x.grad()(0, j, 2 * d), 0) << "value " << j;
    }
  }
}

// One op, which reads its three arguments and nothing else: with plain loops the same of them.
TEST(Attention, S2_1_ReadsItsArgumentsAndHasNoParameters) {
  const V q(random_tensor({1, 2, 3}, Rng(1)), true), k(random_tensor({1, 4, 3}, Rng(2)), true),
      v(random_tensor({1, 4, 5}, Rng(3)), true);
  Operands operands;
  Tensor<double> y;
  {
    const ScopedObserver observing(operands);
    y = attention(q, k, v, {}).value();
  }
  const auto at = [](const V& x) { return static_cast<const void*>(x.shared_value().get()); };
  EXPECT_EQ(operands.read, (std::vector{at(q), at(k), at(v)}));
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<double> sums(5);
    double total = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < 3; ++c) score += q.value()(0, i, c) * k.value()(0, j, c);
      const double weight = std::exp(score / std::sqrt(3.0));
      total += weight;
      for (std::size_t c = 0; c < 5; ++c) sums[c] += weight * v.value()(0, j, c);
    }
    for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(y(0, i, c), sums[c] / total, 1e-15);
  }
}

TEST(Attention, S2_12_PackedIsSeparate) {
  const auto qkv = random_tensor({2, 7, 12}, Rng(1));
  const AttentionOptions options{
      .heads = 2,
      .masks = {.key_mask = std::make_shared<Mask>(random_mask({2, 7}, Rng(2)))},
      .dropout = {.p = 0.1, .rng = Rng(3)}};
  const V packed(qkv, true), whole(qkv, true);
  const auto y = self_attention(packed, options);
  const auto z =
      attention(slice(whole, 2, 0, 4), slice(whole, 2, 4, 8), slice(whole, 2, 8, 12), options);
  EXPECT_TRUE(same_bits(y.value(), z.value()));
  y.backward(full({2, 7, 4}, 1.0));
  z.backward(full({2, 7, 4}, 1.0));
  EXPECT_TENSOR_NEAR(packed.grad(), whole.grad(), 0);
}

// q, k and v may be one variable, or share it in part; its gradient is the sum of the paths.
TEST(Attention, S2_12_OneVariableThreeTimes) {
  const auto x = random_tensor({2, 4, 6}, Rng(1)), dy = random_tensor({2, 4, 6}, Rng(2));
  const V q(x, true), k(x, true), v(x, true), one(x, true), inner(x, true);
  const auto y = attention(q, k, v, {.heads = 2});
  y.backward(dy);
  const auto sum = add(add(V(q.grad()), V(k.grad())), V(v.grad())).value();
  const auto z = attention(one, one, one, {.heads = 2});
  EXPECT_TRUE(same_bits(z.value(), y.value()));
  z.backward(dy);
  EXPECT_TENSOR_NEAR(one.grad(), sum, 1e-15);
  const V copy = scale(inner, 1.0);
  attention(copy, inner, copy, {.heads = 2}).backward(dy);
  EXPECT_TENSOR_NEAR(inner.grad(), sum, 1e-15);
  EXPECT_TRUE(gradients_agree([](const auto& in) { return attention(in[0], in[1], in[0], {}); },
                              {x, random_tensor({2, 4, 6}, Rng(3))}));
}

TEST(Attention, WantsOnlyWhatIsAskedFor) {
  const std::vector<Tensor<double>> inputs{random_tensor({1, 3, 4}, Rng(1)),
                                           random_tensor({1, 5, 4}, Rng(2)),
                                           random_tensor({1, 5, 2}, Rng(3))};
  std::vector<Tensor<double>> all;
  for (int which = 7; which > 0; --which) {
    std::vector<V> x;
    for (int i = 0; i < 3; ++i) x.emplace_back(inputs[std::size_t(i)], (which >> i) & 1);
    attention(x[0], x[1], x[2], {}).backward(full({1, 3, 2}, 1.0));
    for (std::size_t i = 0; i < 3; ++i) {
      if (which == 7) all.push_back(x[i].grad());
      if (x[i].requires_grad()) {
        EXPECT_TRUE(same_bits(x[i].grad(), all[i]));
      }
    }
  }
}

TEST(Attention, S2_10_MaskedKeysCountNothing) {
  const auto q = random_tensor({1, 3, 4}, Rng(1)), k = random_tensor({1, 5, 4}, Rng(2));
  const AttentionOptions options{.masks = {.key_mask = mask_of({1, 5}, {1, 0, 1, 0, 0})}};
  const auto p = attention_probabilities(q, k, options);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(p(0, 0, i, 1) + p(0, 0, i, 3) + p(0, 0, i, 4), 0);
    EXPECT_NEAR(p(0, 0, i, 0) + p(0, 0, i, 2), 1, 1e-15);
  }
  // Whatever stands at the masked keys: the same output, and no gradient there.
  const auto v = random_tensor({1, 5, 4}, Rng(3));
  auto k2 = k, v2 = v;
  for (const std::size_t j : {1u, 3u, 4u}) {
    for (std::size_t c = 0; c < 4; ++c) k2(0, j, c) = 50, v2(0, j, c) = -1e30;
  }
  const V key(k2, true), value(v2, true);
  const auto y = attention(V(q), key, value, options);
  EXPECT_TRUE(same_bits(y.value(), attention(V(q), V(k), V(v), options).value()));
  y.backward(full({1, 3, 4}, 1.0));
  for (const std::size_t j : {1u, 3u, 4u}) {
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(std::fabs(key.grad()(0, j, c)) + std::fabs(value.grad()(0, j, c)), 0);
  }
}

// G5: a row without keys gives 0 and no gradient, and leaves the other samples alone.
TEST(Attention, S2_10_NoKeyLeft) {
  const auto qkv = random_tensor<float>({2, 4, 6}, Rng(1));
  const Variable<float> x(qkv, true);
  const auto y =
      self_attention(x, {.masks = {.key_mask = mask_of({2, 4}, {0, 0, 0, 0, 1, 1, 1, 1})}});
  const auto all = self_attention(Variable<float>(qkv), {}).value();
  y.backward(full<float>({2, 4, 2}, 1));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(y.value().data()[i], 0);
    EXPECT_EQ(y.value().data()[8 + i], all.data()[8 + i]);
  }
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(x.grad().data()[i], 0);
}

TEST(Attention, S2_10_MaskOfOnesIsNoMask) {
  const auto qkv = random_tensor<float>({3, 37, 24}, Rng(1));
  const auto dy = random_tensor<float>({3, 37, 8}, Rng(2));
  const Variable<float> a(qkv, true), b(qkv, true);
  const DropoutOptions dropout{.p = 0.2, .rng = Rng(3)};
  const auto y = self_attention(a, {.heads = 2, .dropout = dropout});
  const auto z = self_attention(
      b, {.heads = 2,
          .masks = {.key_mask = std::make_shared<Mask>(full<std::uint8_t>({3, 37}, 1))},
          .dropout = dropout});
  EXPECT_TRUE(same_bits(y.value(), z.value()));
  y.backward(dy);
  z.backward(dy);
  EXPECT_TRUE(same_bits(a.grad(), b.grad()));
}

TEST(Attention, OneKeyIsCopied) {
  const V q(random_tensor({1, 3, 2}, Rng(1)), true), k(random_tensor({1, 1, 2}, Rng(2)), true);
  const V v(tensor({1, 1, 2}, {0.3, -7.0}), true);
  const auto y = attention(q, k, v, {});
  EXPECT_TENSOR_NEAR(y.value(), tensor({1, 3, 2}, {0.3, -7.0, 0.3, -7.0, 0.3, -7.0}), 0);
  y.backward(random_tensor({1, 3, 2}, Rng(3)));
  EXPECT_TENSOR_NEAR(q.grad(), zeros<double>({1, 3, 2}), 0);
  EXPECT_TENSOR_NEAR(k.grad(), zeros<double>({1, 1, 2}), 0);
}

TEST(Attention, LargeScoresGiveNoNan) {
  Tensor<float> x = random_tensor<float>({1, 6, 12}, Rng(1), -100, 100);
  const Variable<float> qkv(x, true);
  const auto y = self_attention(qkv, {.heads = 2, .scale = 10});
  y.backward(full<float>(y.shape(), 1));
  for (std::size_t i = 0; i < y.value().size(); ++i)
    EXPECT_TRUE(std::isfinite(y.value().data()[i]));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(std::isfinite(qkv.grad().data()[i]));
}

TEST(Attention, NothingInNothingOut) {
  EXPECT_EQ(self_attention(V(zeros<double>({0, 3, 6})), {}).shape(), (Shape{0, 3, 2}));
  const V k(zeros<double>({2, 0, 4}), true), v(zeros<double>({2, 0, 3}), true),
      q(full({2, 5, 4}, 1.0), true);
  const auto y = attention(q, k, v, {});
  EXPECT_TRUE(same_bits(y.value(), zeros<double>({2, 5, 3})));
  y.backward(full({2, 5, 3}, 1.0));
  EXPECT_TRUE(same_bits(q.grad(), zeros<double>({2, 5, 4})));
  const V none(zeros<double>({2, 0, 4}), true), keys(full({2, 5, 4}, 1.0), true);
  const V values(full({2, 5, 4}, 1.0), true);
  attention(none, keys, values, {}).backward(zeros<double>({2, 0, 4}));
  EXPECT_TRUE(same_bits(keys.grad(), zeros<double>({2, 5, 4})));
  EXPECT_TRUE(same_bits(values.grad(), zeros<double>({2, 5, 4})));
}

TEST(Attention, S2_2_NamesTheAxis) {
  const auto v = [](const Shape& shape) { return V(zeros<double>(shape)); };
  const auto wrong = [&](const Shape& a, const Shape& b, const Shape& c,
                         const AttentionOptions& options) {
    return [=] { attention(v(a), v(b), v(c), options); };
  };
  EXPECT_TRUE(throws_with<ShapeError>(
      wrong({2, 3, 4}, {1, 3, 4}, {2, 3, 4}, {}),
      "attention: batch sizes (axis 0) differ: q (2, 3, 4), k (1, 3, 4), v (2, 3, 4)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      wrong({1, 3, 4}, {1, 3, 4}, {1, 5, 4}, {}),
      "attention: numbers of keys and values (axis 1) differ: k (1, 3, 4), v (1, 5, 4)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      wrong({1, 3, 4}, {1, 3, 5}, {1, 3, 4}, {}),
      "attention: widths of q and k (axis 2) differ: q (1, 3, 4), k (1, 3, 5)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      wrong({1, 3, 4}, {1, 3, 4}, {1, 3, 3}, {.heads = 2}),
      "attention: 2 heads do not divide the widths (axis 2) of q (1, 3, 4) and v (1, 3, 3)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      wrong({1, 3, 4}, {1, 5, 4}, {1, 5, 4}, {.masks = {.key_mask = mask_of({1, 3}, {1, 1, 1})}}),
      "attention: key_mask: expected (1, 5), got (1, 3)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        self_attention(v({1, 3, 8}), {});
      },
      "self_attention: 3 times 1 heads do not divide the width (axis 2) of (1, 3, 8)"));
}

}  // namespace xgrad::test
