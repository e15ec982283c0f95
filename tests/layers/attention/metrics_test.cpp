#include <xgrad/layers/attention/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/layers/attention/attention.hpp>

#include "layers/models.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

// One sample of heads that are given as functions of query and key.
template <class... Heads>
Tensor<double> maps(std::size_t n, const Heads&... heads) {
  Tensor<double> p = empty<double>({1, sizeof...(heads), n, n});
  double* at = p.data();
  const auto fill = [&](const auto& head) {
    for (std::size_t i = 0; i < n * n; ++i) *at++ = head(i / n, i % n);
  };
  (fill(heads), ...);
  return p;
}

constexpr auto kSelf = [](std::size_t i, std::size_t j) { return i == j ? 1.0 : 0.0; };
constexpr auto kUniform = [](std::size_t, std::size_t) { return 0.25; };
constexpr auto kNext = [](std::size_t i, std::size_t j) { return (i + 1) % 4 == j ? 1.0 : 0.0; };

TEST(AttentionMetrics, ByHand) {
  AttentionMetrics metrics;
  metrics.add(maps(4, kSelf, kUniform, kNext), nullptr);
  EXPECT_EQ(metrics.entropy(0), 0);
  EXPECT_NEAR(metrics.entropy(1), std::log(4), 1e-15);
  EXPECT_EQ(metrics.distance(0), 0);
  EXPECT_NEAR(metrics.distance(1), 20.0 / 16, 1e-15);  // 2 (3 1 + 2 2 + 1 3) / 16
  EXPECT_NEAR(metrics.distance(2), (1 + 1 + 1 + 3) / 4.0, 1e-15);
}

TEST(AttentionMetrics, S2_13_AsymmetryOfAMapThatSharesNothingWithItsTransposeIsOne) {
  AttentionMetrics metrics;
  metrics.add(maps(4, kSelf, kUniform, kNext), nullptr);
  EXPECT_EQ(metrics.asymmetry(0), 0);
  EXPECT_EQ(metrics.asymmetry(1), 0);
  EXPECT_NEAR(metrics.asymmetry(2), 1, 1e-15);
}

TEST(AttentionMetrics, S2_14_RedundancyIsOneForEqualHeadsAndZeroForHeadsThatShareNoKey) {
  AttentionMetrics metrics;
  metrics.add(maps(4, kSelf, kNext, kSelf, kUniform), nullptr);
  EXPECT_NEAR(metrics.redundancy(0, 2), 1, 1e-15);
  EXPECT_EQ(metrics.redundancy(0, 1), 0);
  EXPECT_NEAR(metrics.redundancy(0, 3), 0.5, 1e-15);  // <I, J/4> = 1; |I| = 2, |J/4| = 1
  EXPECT_EQ(metrics.redundancy(1, 3), metrics.redundancy(3, 1));
}

TEST(AttentionMetrics, PaddedQueriesCountNothing) {
  AttentionMetrics whole, padded;
  const auto two = [](std::size_t i, std::size_t j) { return i < 2 && j < 2 ? 0.5 : 0.0; };
  const auto junk = [&](std::size_t i, std::size_t j) { return i < 2 ? two(i, j) : 0.25; };
  whole.add(maps(2, two), nullptr);
  Mask mask = zeros<std::uint8_t>({1, 4});
  mask.data()[0] = mask.data()[1] = 1;
  padded.add(maps(4, junk), std::make_shared<const Mask>(mask));
  EXPECT_NEAR(padded.entropy(0), whole.entropy(0), 1e-15);
  EXPECT_NEAR(padded.distance(0), whole.distance(0), 1e-15);
  EXPECT_NEAR(padded.asymmetry(0), 0, 1e-15);
}

TEST(AttentionMetrics, EachSampleHasItsOwnMask) {
  const Rng rng(3);
  Tensor<double> p = empty<double>({2, 1, 3, 3});
  for (std::size_t i = 0; i < p.size(); ++i) p.data()[i] = rng.uniform(i);
  const Mask mask = test::tensor<std::uint8_t>({2, 3}, {1, 1, 1, 1, 0, 0});
  AttentionMetrics together, apart;
  together.add(p, std::make_shared<const Mask>(mask));
  for (std::size_t b = 0; b < 2; ++b) {
    Tensor<double> own = empty<double>({1, 1, 3, 3});
    std::copy_n(p.data() + 9 * b, 9, own.data());
    Mask kept = test::tensor<std::uint8_t>({1, 3}, {1, std::uint8_t(b == 0), std::uint8_t(b == 0)});
    apart.add(own, std::make_shared<const Mask>(kept));
  }
  EXPECT_DOUBLE_EQ(together.entropy(0), apart.entropy(0));
  EXPECT_DOUBLE_EQ(together.distance(0), apart.distance(0));
}

// A place of one sequence and the same place of another have nothing to do with each other.
TEST(AttentionMetrics, ASquareMapOfTwoSequencesHasNoAsymmetry) {
  AttentionMetrics self, cross;
  self.add(maps(4, kNext), nullptr);
  cross.add(maps(4, kNext), nullptr, /*cross=*/true);
  EXPECT_GT(self.asymmetry(0), 0.5);
  EXPECT_EQ(cross.asymmetry(0), 0);
  EXPECT_EQ(cross.distance(0), self.distance(0));
}

TEST(AttentionMetrics, RefusesAnotherNumberOfHeads) {
  AttentionMetrics metrics;
  metrics.add(maps(4, kSelf), nullptr);
  EXPECT_THROW(metrics.add(maps(4, kSelf, kNext), nullptr), ShapeError);
}

TEST(AttentionObserver, SeesTheMapsOfALayerAndChangesNothing) {
  Parameters<float> parameters(1);
  const auto scope = parameters.root() / "a";
  const MultiHeadAttention<float> layer(scope, {.width = 6, .heads = 3});
  const Variable<float> x(cast<float>(test::random_tensor({2, 5, 6}, Rng(1), -1, 1)));
  test::HeadObserver<float> watcher;
  const Tensor<float> before = layer(x, {}, {}).value();
  EXPECT_TENSOR_NEAR(layer(x, {}, watcher.context()).value(), before, 1e-6);
  EXPECT_EQ(watcher.places.front().module, scope.id());
  const Tensor<float>& p = watcher.maps.front().value();
  ASSERT_EQ(p.shape(), (Shape{2, 3, 5, 5}));
  for (std::size_t row = 0; row < 30; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 5; ++j) sum += p.data()[row * 5 + j];
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

// The output projection without the columns of a head is the layer without that head.
TEST(AttentionObserver, SilencesAHead) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 6, .heads = 3});
  const Variable<double> x(test::random_tensor({2, 5, 6}, Rng(1), -1, 1));
  test::HeadObserver<double> watcher;
  watcher.factors = {1, 0, 1};
  const Tensor<double> silenced = layer(x, {}, watcher.context()).value();
  Tensor<double>& weight = parameters.at("a.out_proj.weight").mutable_value();
  for (std::size_t row = 0; row < 6; ++row) weight(row, 2) = weight(row, 3) = 0;
  EXPECT_TENSOR_NEAR(silenced, layer(x, {}, {}).value(), 1e-15);
}

// Against softmax(q k^T / sqrt(d)) in plain loops; the last key of the second sample is padding.
TEST(AttentionObserver, SeesAndSilencesTheHeadsOfCrossAttention) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 6, .heads = 3});
  const Variable<double> x(test::random_tensor({2, 5, 6}, Rng(1), -1, 1)),
      memory(test::random_tensor({2, 4, 6}, Rng(2), -1, 1));
  auto keys = std::make_shared<Mask>(full<std::uint8_t>({2, 4}, 1));
  (*keys)(1, 3) = 0;
  const auto queries = std::make_shared<const Mask>(full<std::uint8_t>({2, 5}, 1));
  test::HeadObserver<double> watcher;
  layer(x, memory, memory, {keys}, watcher.context(), {}, queries);
  EXPECT_TRUE(watcher.places.front().cross);
  EXPECT_EQ(watcher.places.front().query_mask, queries);
  const Tensor<double>& p = watcher.maps.front().value();
  ASSERT_EQ(p.shape(), (Shape{2, 3, 5, 4}));
  const Tensor<double> q = linear(x, Variable<double>(layer.w_q())).value(),
                       k = linear(memory, Variable<double>(layer.w_k())).value();
  for (std::size_t row = 0; row < 30; ++row) {
    const std::size_t b = row / 15, h = row / 5 % 3, i = row % 5;
    double e[4], sum = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const double dot = q(b, i, 2 * h) * k(b, j, 2 * h) + q(b, i, 2 * h + 1) * k(b, j, 2 * h + 1);
      sum += e[j] = (*keys)(b, j) == 0 ? 0 : std::exp(dot / std::sqrt(2));
    }
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(p(b, h, i, j), e[j] / sum, 1e-14);
    }
  }

  watcher.factors = {1, 0, 1};
  const Tensor<double> silenced = layer(x, memory, memory, {keys}, watcher.context()).value();
  Tensor<double>& weight = parameters.at("a.out_proj.weight").mutable_value();
  for (std::size_t row = 0; row < 6; ++row) weight(row, 2) = weight(row, 3) = 0;
  EXPECT_TENSOR_NEAR(silenced, layer(x, memory, memory, {keys}, {}).value(), 1e-15);
}

}  // namespace
}  // namespace xgrad
