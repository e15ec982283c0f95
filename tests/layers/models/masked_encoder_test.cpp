// Whole encoders under every kind of mask and of attention weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <xgrad/layers/models/models.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;
using V = Variable<double>;

const Rng kRng = Rng(37) / "masked encoder";

EncoderOptions options(const MultiHeadAttentionOptions& attention, std::size_t layers) {
  EncoderOptions o;
  o.layers = layers;
  o.attention = attention;
  o.feedforward = 8;
  return o;
}

std::vector<MultiHeadAttentionOptions> every_attention() {
  std::vector<MultiHeadAttentionOptions> all;
  for (const Score score : {Score::dot, Score::cosine, Score::additive}) {
    for (const AttentionActivation activation :
         {AttentionActivation::softmax, AttentionActivation::relu,
          AttentionActivation::squared_relu, AttentionActivation::sigmoid,
          AttentionActivation::sparsemax}) {
      for (const bool other : {false, true}) {
        MultiHeadAttentionOptions o{.width = 6, .heads = 2, .causal = other, .exclude_self = other};
        o.weights = {score, activation, 1.0, other, other};
        all.push_back(o);
      }
    }
  }
  all.push_back({.width = 6, .heads = 2, .causal = true});
  all.push_back({.width = 6, .heads = 2, .exclude_self = true});
  return all;
}

// The first `tokens` of sample b of (B, N, ...), alone.
V alone(const V& x, std::size_t b, std::size_t tokens) {
  return slice(slice(x, 0, b, b + 1), 1, 0, tokens);
}

// A random graph with self-loops, symmetric; nothing where padded.
Mask graph(const std::vector<std::size_t>& lengths, std::size_t n, const Rng& rng) {
  Mask mask = full<std::uint8_t>({lengths.size(), n, n}, 0);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::size_t i = 0; i < lengths[b]; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        mask(b, i, j) = mask(b, j, i) = i == j || rng.uniform((b * n + i) * n + j) < 0.4;
      }
    }
  }
  return mask;
}

}  // namespace

// Each sample gives the same alone as beside a longer one, under every mask and in every kind.
TEST(MaskedEncoder, S4_1_S2_10_PaddingChangesNothing) {
  const std::vector<std::size_t> lengths{5, 3, 1};
  Mask key_mask = full<std::uint8_t>({3, 5}, 0);
  for (std::size_t b = 0; b < 3; ++b) std::fill_n(&key_mask(b, 0), lengths[b], 1);
  const Mask edges = graph(lengths, 5, kRng / "edges");
  const V x(random_tensor({3, 5, 6}, kRng));
  for (const MultiHeadAttentionOptions& attention : every_attention()) {
    Parameters<double> parameters(1);
    const Encoder<double> encoder(parameters.root() / "e", options(attention, 2));
    for (const bool adjacency : {false, true}) {
      AttentionMasks masks{.key_mask = std::make_shared<Mask>(key_mask)};
      if (adjacency) masks.mask = std::make_shared<Mask>(edges);
      const V together = encoder(x, masks, {});
      for (std::size_t b = 0; b < 3; ++b) {
        const std::size_t n = lengths[b];
        AttentionMasks own;
        if (adjacency) {
          Mask mask = empty<std::uint8_t>({1, n, n});
          for (std::size_t i = 0; i < n; ++i) std::copy_n(&edges(b, i, 0), n, &mask(0, i, 0));
          own.mask = std::make_shared<Mask>(mask);
        }
        EXPECT_TENSOR_NEAR(alone(together, b, n).value(), encoder(alone(x, b, n), own, {}).value(),
                           1e-12)
            << "sample " << b << ", adjacency " << adjacency << ", score "
            << int(attention.weights.score) << ", activation " << int(attention.weights.activation);
      }
    }
  }
}

// A path 0 - 1 - 2 - 3 - 4: after one layer a node depends on itself and its neighbours, after two
// on theirs too, and on nobody else.
TEST(MaskedEncoder, S4_4_ANodeSeesItsNeighbours) {
  Mask path = full<std::uint8_t>({1, 5, 5}, 0);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) path(0, i, j) = i <= j + 1 && j <= i + 1;
  }
  const AttentionMasks masks{.mask = std::make_shared<Mask>(path)};
  for (const std::size_t layers : {1u, 2u}) {
    Parameters<double> parameters(1);
    const Encoder<double> encoder(parameters.root() / "e",
                                  options({.width = 6, .heads = 2}, layers));
    const Tensor<double> x = random_tensor({1, 5, 6}, kRng);
    const Tensor<double> before = encoder(V(x), masks, {}).value();
    for (std::size_t j = 0; j < 5; ++j) {
      Tensor<double> other = x;
      for (std::size_t c = 0; c < 6; ++c) other(0, j, c) += double(c) - 2;
      const Tensor<double> after = encoder(V(other), masks, {}).value();
      for (std::size_t i = 0; i < 5; ++i) {
        const bool near = i <= j + layers && j <= i + layers;
        EXPECT_EQ(std::equal(&before(0, i, 0), &before(0, i, 0) + 6, &after(0, i, 0)), !near)
            << "node " << i << ", changed " << j << ", layers " << layers;
      }
    }
  }
}

TEST(MaskedEncoder, S2_10_CausalTokensDoNotSeeTheFuture) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e",
                                options({.width = 6, .heads = 2, .causal = true}, 3));
  const V x(random_tensor({1, 6, 6}, kRng));
  const V whole = encoder(x, {}, {});
  for (std::size_t n = 1; n < 6; ++n) {
    EXPECT_TENSOR_NEAR(encoder(slice(x, 1, 0, n), {}, {}).value(), slice(whole, 1, 0, n).value(),
                       1e-13);
  }
}

// In a whole model: nodes keep to their neighbours, the class token reads them all and is read by
// none of them.
TEST(MaskedEncoder, S4_4_AGraphInAModel) {
  EncoderModelOptions o;
  o.input.vector = 3;
  o.input.max_length = 4;
  o.input.positions = PositionKind::none;
  o.encoder = options({.width = 6, .heads = 2}, 2);
  o.adjacency = true;
  o.classes = 2;
  auto edges = std::make_shared<Mask>(full<std::uint8_t>({1, 4, 4}, 0));
  for (std::size_t i = 0; i < 4; ++i) (*edges)(0, i, i) = 1;
  (*edges)(0, 0, 1) = (*edges)(0, 1, 0) = (*edges)(0, 2, 3) = (*edges)(0, 3, 2) = 1;
  const Tensor<double> x = random_tensor({1, 4, 3}, kRng);
  Tensor<double> other = x;
  for (std::size_t c = 0; c < 3; ++c) other(0, 3, c) = 2 - double(c);
  const auto output = [&](Pool pool, const Tensor<double>& features) {
    o.pool = pool;
    Parameters<double> parameters(1);
    const EncoderModel<double> model(parameters.root(), o);
    return model({nullptr, &features, nullptr, edges}, {}).value();
  };
  const auto before = output(Pool::none, x), after = output(Pool::none, other);
  EXPECT_TENSOR_NEAR(slice(V(after), 1, 0, 2).value(), slice(V(before), 1, 0, 2).value(), 0);
  EXPECT_FALSE(test::tensors_near(slice(V(after), 1, 2, 4).value(),
                                  slice(V(before), 1, 2, 4).value(), 1e-6));
  EXPECT_FALSE(test::tensors_near(output(Pool::cls, other), output(Pool::cls, x), 1e-9));
  o.pool = Pool::cls;
  Parameters<double> parameters(1);
  const EncoderModel<double> model(parameters.root(), o);
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] {
        model({nullptr, &x, nullptr, nullptr}, {});
      },
      "model: expected a graph as input"));
}

// A bias on the scores of every layer: -inf hides as a mask does, a constant does nothing.
TEST(MaskedEncoder, S2_10_AnAdditiveMaskIsAMask) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options({.width = 6, .heads = 2}, 2));
  const V x(random_tensor({2, 4, 6}, kRng));
  const Mask mask = graph({4, 4}, 4, kRng / "graph");
  Tensor<double> bias = full({2, 1, 4, 4}, 0.5);
  for (std::size_t i = 0; i < 32; ++i) {
    if (!mask.data()[i]) bias.data()[i] = -std::numeric_limits<double>::infinity();
  }
  EXPECT_TENSOR_NEAR(encoder(x, {}, {}, V(bias)).value(),
                     encoder(x, {.mask = std::make_shared<Mask>(mask)}, {}).value(), 1e-13);
}

}  // namespace xgrad
