// The worked examples of attention, number by number.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

// Keys and values of S2.3; queries of S2.4 and S2.8.
Tensor<double> dictionary_keys() {
  return tensor({1, 3, 3}, {131.5, 29.6, 8.9, 151.2, 42.3, 12.8, 154.3, 47.5, 14.2});
}
Tensor<double> dictionary_values() {
  return tensor({1, 3, 2}, {12.0, 31.0, 45.0, 51.0, 52.0, 78.0});
}
Tensor<double> queries() {
  return tensor({1, 5, 3}, {1., 0., 0., 0., -1., 0., 0.1, 0., 1., 0.05, 0., 0.5, 1., 0., 1.});
}

Variable<double> constant(const Tensor<double>& x) {
  return Variable<double>(x);
}

// q, k and v of the two-token example, S3.2 to S3.5.
const Tensor<double> kQ = tensor({1, 2, 2}, {1.0, 2.0, 1.0, 1.0});
const Tensor<double> kK = tensor({1, 2, 2}, {1.0, 0.0, 0.0, 1.0});

}  // namespace

TEST(AttentionGolden, S2_3_S2_4_Scores) {
  EXPECT_TENSOR_NEAR(attention_scores(queries(), dictionary_keys(), {.scale = 1}),
                     worked_example("S2.4.scores"), 1e-13);
}

TEST(AttentionGolden, S2_5_S2_8_UnscaledProbabilities) {
  const auto p = attention_probabilities(queries(), dictionary_keys(), {.scale = 1});
  EXPECT_TRUE(tensors_near(p, worked_example("S2.5.probabilities"), 0, 1e-12));
}

TEST(AttentionGolden, S2_6_ScaledProbabilities) {
  const auto p = attention_probabilities(queries(), dictionary_keys(), {});
  EXPECT_TRUE(tensors_near(p, worked_example("S2.6.probabilities"), 0, 1e-12));
}

TEST(AttentionGolden, S2_2_S2_7_Outputs) {  // N = 5, M = 3, d_k = 3, d_v = 2
  const auto q = constant(queries()), k = constant(dictionary_keys()),
             v = constant(dictionary_values());
  EXPECT_TENSOR_NEAR(attention(q, k, v, {.scale = 1}).value(), worked_example("S2.7.unscaled"),
                     1e-12);
  EXPECT_TENSOR_NEAR(attention(q, k, v, {}).value(), worked_example("S2.7.scaled"), 1e-12);
}

// The longer of two parallel queries attends more sharply, though their cosines are the same.
TEST(AttentionGolden, S2_9_LongerQueriesAreSharper) {
  const auto p = attention_probabilities(queries(), dictionary_keys(), {.scale = 1});
  const auto entropy = [&](std::size_t query) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum -= p(0, 0, query, j) * std::log(p(0, 0, query, j));
    return sum;
  };
  EXPECT_NEAR(entropy(2), worked_example("S2.9.entropy")(0), 5e-4);
  EXPECT_NEAR(entropy(3), worked_example("S2.9.entropy")(1), 5e-4);
}

TEST(AttentionGolden, S3_4_Scores) {
  EXPECT_TENSOR_NEAR(attention_scores(kQ, kK, {}), worked_example("S3.4.scores"), 1e-15);
}

TEST(AttentionGolden, S3_5_OutputsAndGradients) {
  const Variable<double> q(kQ, true);
  const auto b = attention(q, constant(kK), constant(kK), {});  // V = I, as K
  EXPECT_TENSOR_NEAR(b.value(), worked_example("S3.5.b"), 1e-10);
  b.backward(tensor({1, 2, 2}, {1.0, 0.0, 0.0, 0.0}));
  EXPECT_NEAR(q.grad()(0, 0, 0), worked_example("S3.5.dq")(0), 1e-10);
  EXPECT_NEAR(q.grad()(0, 0, 1), worked_example("S3.5.dq")(1), 1e-10);

  const Variable<double> alpha(reshape(constant(attention_scores(kQ, kK, {})), {2, 2}).value(),
                               true);
  softmax(alpha).backward(tensor({2, 2}, {1.0, 0.0, 0.0, 0.0}));
  const double slope = worked_example("S3.5.dalpha")();
  EXPECT_TENSOR_NEAR(alpha.grad(), tensor({2, 2}, {slope, -slope, 0.0, 0.0}), 1e-10);
}

// Without the scale, products of long vectors saturate the softmax and little gradient is left.
TEST(AttentionGolden, S3_6_ScalingKeepsTheGradient) {
  const auto q = normal_tensor({1, 50, 64}, Rng(1)), k = normal_tensor({1, 50, 64}, Rng(2));
  const auto slope = [&](double scale) {  // mean trace of a row's Jacobian, sum p (1 - p)
    double trace = 0;
    for (const double p : attention_probabilities(q, k, {.scale = scale})) trace += p * (1 - p);
    return trace / 50;
  };
  EXPECT_GT(slope(1.0 / 8), 0.9);
  EXPECT_LT(slope(1), 0.4);
}

// Heads are consecutive features, and a token's heads are joined with each other.
TEST(AttentionGolden, S3_7_S3_8_TwoHeads) {
  const AttentionOptions two{.heads = 2};
  EXPECT_TENSOR_NEAR(attention_probabilities(kQ, kK, two), worked_example("S3.7.probabilities"),
                     1e-6);
  const auto y = attention(constant(kQ), constant(kK), constant(kK), two);
  EXPECT_TENSOR_NEAR(y.value(), worked_example("S3.7.y"), 1e-6);
}

// In columns, as some lectures write it: O = V A' with A' = softmax_col(K^T Q), tokens in columns.
TEST(AttentionGolden, S4_18_ColumnConvention) {
  const auto q = constant(random_tensor({4, 3}, Rng(1))),
             k = constant(random_tensor({4, 5}, Rng(2)));
  const auto v = constant(random_tensor({2, 5}, Rng(3)));
  const auto a = matmul(k, q, true);                                      // (5, 3)
  const auto columns = transpose(softmax(transpose(a, {1, 0})), {1, 0});  // each column sums to 1
  const auto o = matmul(v, columns);                                      // (2, 3)
  const auto rows = [](const Variable<double>& x) {
    return reshape(transpose(x, {1, 0}), {1, x.shape()[1], x.shape()[0]});
  };
  EXPECT_TENSOR_NEAR(attention(rows(q), rows(k), rows(v), {.scale = 1}).value(), rows(o).value(),
                     1e-15);
}

}  // namespace xgrad::test
