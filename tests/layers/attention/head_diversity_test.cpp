#include <xgrad/layers/attention/metrics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <xgrad/layers/attention/attention.hpp>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;
using V = Variable<double>;

const Rng kRng = Rng(31) / "head diversity";

// Two heads over 2 x 3: maps that meet in no element, maps that are equal, and one in between.
const Tensor<double> kOrthogonal =
    test::tensor({1, 2, 2, 3}, {1, 0, 0, 0, 1, 0, /**/ 0, 1, 0, 0, 0, 1});
const Tensor<double> kIdentical =
    test::tensor({1, 2, 2, 3}, {0.5, 0.5, 0, 0, 1, 0, /**/ 0.5, 0.5, 0, 0, 1, 0});
const Tensor<double> kBetween =
    test::tensor({1, 2, 2, 3}, {1, 0, 0, 0, 1, 0, /**/ 1, 0, 0, 0, 0, 1});  // cosine 1/2

}  // namespace

TEST(HeadDiversity, S2_14_PenaltyIsZeroForOrthogonalAndLargestForIdenticalMaps) {
  EXPECT_EQ(head_diversity_penalty(V(kOrthogonal)).value()(), 0);
  EXPECT_NEAR(head_diversity_penalty(V(kIdentical)).value()(), 1, 1e-15);
  EXPECT_NEAR(head_diversity_penalty(V(kBetween)).value()(), 0.25, 1e-15);
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    const V maps = softmax(V(random_tensor({2, 3, 4, 5}, kRng / trial, -3, 3)));
    const double penalty = head_diversity_penalty(maps).value()();
    EXPECT_GT(penalty, 0);
    EXPECT_LT(penalty, 1);
  }
}

TEST(HeadDiversity, S2_14_PenaltyHasTheRightGradient) {
  EXPECT_TRUE(
      test::gradients_agree([](const auto& in) { return head_diversity_penalty(softmax(in[0])); },
                            {random_tensor({2, 3, 4, 5}, kRng)}));
}

// The attention of padding's queries does not matter and has no gradient.
TEST(HeadDiversity, S2_14_OnlyQueriesThatCountAreCompared) {
  const auto whole = random_tensor({2, 3, 4, 5}, kRng, 0.1, 1);
  const auto mask = test::lengths({2, 3}, 4);
  V maps(whole, true);
  const V penalty = head_diversity_penalty(maps, mask);
  const V first(slice(slice(V(whole), 0, 0, 1), 2, 0, 2)),
      second(slice(slice(V(whole), 0, 1, 2), 2, 0, 3));
  EXPECT_NEAR(
      penalty.value()(),
      (head_diversity_penalty(first).value()() + head_diversity_penalty(second).value()()) / 2,
      1e-15);
  penalty.backward();
  EXPECT_EQ(maps.grad()(0, 2, 2, 1), 0);
  EXPECT_NE(maps.grad()(1, 2, 2, 1), 0);
  EXPECT_TRUE(test::gradients_agree(
      [&mask](const auto& in) { return head_diversity_penalty(softmax(in[0]), mask); },
      {random_tensor({2, 3, 4, 5}, kRng)}));
}

// Minimised alone, it drives the heads of a layer apart.
TEST(HeadDiversity, S2_14_PenaltyMakesHeadsDiffer) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 8, .heads = 2});
  const V x(random_tensor({2, 5, 8}, kRng));
  const auto penalty = [&] { return head_diversity_penalty(test::weights_of(layer, x)); };
  const double before = penalty().value()();
  const V weight = parameters.at("a.in_proj_weight");
  for (int step = 0; step < 50; ++step) {
    parameters.zero_grad();
    penalty().backward();
    weight.mutable_value() -= 1.0 * weight.grad();
  }
  EXPECT_LT(penalty().value()(), 0.9 * before);
}

// A mask of the keys says nothing about queries, of which there may be another number.
TEST(HeadDiversity, CrossAttentionComparesAllQueriesWithoutAMaskForThem) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> layer(parameters.root() / "a", {.width = 8, .heads = 2});
  const V x(random_tensor({2, 5, 8}, kRng)), memory(random_tensor({2, 3, 8}, kRng / "memory"));
  const auto keys = test::lengths({2, 3}, 3);
  HeadDiversity<double> diversity;
  test::HeadObserver<double> watcher;
  layer(x, memory, memory, {keys}, {.activations = &diversity});
  layer(x, memory, memory, {keys}, watcher.context());
  EXPECT_EQ(diversity.mean().value()(), head_diversity_penalty(watcher.maps.front()).value()());
}

// With W_q = W_k the raw scores are symmetric; with two random maps they are not.
TEST(HeadDiversity, S2_13_ScoresAreSymmetricOnlyWhereTheMapsAreEqual) {
  const V x(random_tensor({2, 6, 8}, kRng));
  const V wq(random_tensor({8, 8}, kRng / "q")), wk(random_tensor({8, 8}, kRng / "k"));
  const auto asymmetry = [&](const V& a, const V& b) {
    const auto s = attention_scores(linear(x, a).value(), linear(x, b).value(), {.heads = 2});
    const auto transposed = transpose(V(s), {0, 1, 3, 2}).value();
    double largest = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      largest = std::max(largest, std::fabs(s.data()[i] - transposed.data()[i]));
    }
    AttentionMetrics metrics;
    metrics.add(s, nullptr);
    return std::pair{largest, std::max(metrics.asymmetry(0), metrics.asymmetry(1))};
  };
  EXPECT_LT(asymmetry(wq, wq).first, 1e-15);
  EXPECT_LT(asymmetry(wq, wq).second, 1e-15);
  EXPECT_GT(asymmetry(wq, wk).second, 0.1);
}

TEST(HeadDiversity, NamesShapesThatDoNotFit) {
  for (const Shape& shape : {Shape{1, 1, 3, 3}, Shape{2, 3, 3}, Shape{1, 2, 0, 3}}) {
    EXPECT_TRUE(test::throws_with<ShapeError>(
        [&] { head_diversity_penalty(V(zeros<double>(shape))); },
        "head_diversity_penalty: expected maps (B, H, N, M) of two heads or more, got " +
            to_string(shape)));
  }
  const auto mask = test::lengths({4, 4}, 4);
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] {
        head_diversity_penalty(V(full<double>({2, 2, 3, 3}, 1)), mask);
      },
      "head_diversity_penalty: mask: expected (2, 3), got (2, 4)"));
  EXPECT_TRUE(test::throws_with<ShapeError>([] { HeadDiversity<double>().mean(); },
                                            "head diversity: the model has no attention"));
}

}  // namespace xgrad
