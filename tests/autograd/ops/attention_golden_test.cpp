// The worked examples of attention, number by number.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/ops.hpp>

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

TEST(AttentionGolden, S2_4_Scores) {
  EXPECT_TENSOR_NEAR(attention_scores(queries(), dictionary_keys(), {.scale = 1}),
                     tensor({1, 1, 5, 3}, {131.5, 151.2, 154.3, -29.6, -42.3, -47.5, 22.05, 27.92,
                                           29.63, 11.025, 13.96, 14.815, 140.4, 164.0, 168.5}),
                     1e-13);
}

TEST(AttentionGolden, S2_5_UnscaledProbabilities) {
  const auto p = attention_probabilities(queries(), dictionary_keys(), {.scale = 1});
  const auto expected =
      tensor({1, 1, 5, 3},
             {1.199358657550058e-10, 0.04310725493591508, 0.9568927449441491, 0.9999969320521237,
              3.051116197342257e-06, 1.683167905786515e-08, 0.00043217491306204867,
              0.15309752224954104, 0.846470302837397, 0.01560600373553594, 0.2937284482360931,
              0.6906655480283709, 6.18766914491683e-13, 0.010986942630586381, 0.9890130573687949});
  EXPECT_TRUE(tensors_near(p, expected, 0, 1e-12));
}

TEST(AttentionGolden, S2_6_ScaledProbabilities) {
  const auto p = attention_probabilities(queries(), dictionary_keys(), {});
  const auto expected =
      tensor({1, 1, 5, 3},
             {1.6445880208655114e-06, 0.14309874746540854, 0.8568996079465707, 0.9993139448899548,
              0.0006535871275771742, 3.246798246785292e-05, 0.009075889179396841,
              0.26898817961775406, 0.7219359312028492, 0.06509224124651364, 0.3543653347734326,
              0.5805424239800538, 8.375914595062823e-08, 0.06926232898006932, 0.9307375872607847});
  EXPECT_TRUE(tensors_near(p, expected, 0, 1e-12));
}

TEST(AttentionGolden, S2_2_S2_7_Outputs) {  // N = 5, M = 3, d_k = 3, d_v = 2
  const auto q = constant(queries()), k = constant(dictionary_keys()),
             v = constant(dictionary_values());
  EXPECT_TENSOR_NEAR(attention(q, k, v, {.scale = 1}).value(),
                     tensor({1, 5, 2}, {51.69824921065116, 76.8361041110933, 12.000101360101675,
                                        31.000061813412866, 50.91103034773074, 73.84605467834848,
                                        49.31966071292591, 69.33584972205529, 51.923091401561145,
                                        77.70335254894509}),
                     1e-12);
  EXPECT_TENSOR_NEAR(
      attention(q, k, v, {}).value(),
      tensor({1, 5, 2}, {50.998242984221314, 74.136256522797, 12.02286709450876, 31.01459773772753,
                         49.75404717549985, 70.31075235888899, 46.91575300672543, 65.37280062253119,
                         51.515160346773676, 76.12991318085827}),
      1e-12);
}

TEST(AttentionGolden, S3_4_Scores) {
  const double root = std::sqrt(0.5);
  EXPECT_TENSOR_NEAR(attention_scores(kQ, kK, {}),
                     tensor({1, 1, 2, 2}, {root, 2 * root, root, root}), 1e-15);
}

TEST(AttentionGolden, S3_5_OutputsAndGradients) {
  const Variable<double> q(kQ, true);
  const auto b = attention(q, constant(kK), constant(kK), {});  // V = I, as K
  EXPECT_TENSOR_NEAR(b.value(), tensor({1, 2, 2}, {0.3302384507, 0.6697615493, 0.5, 0.5}), 1e-10);
  b.backward(tensor({1, 2, 2}, {1.0, 0.0, 0.0, 0.0}));
  EXPECT_TENSOR_NEAR(q.grad(), tensor({1, 2, 2}, {0.1563985965, -0.1563985965, 0.0, 0.0}), 1e-10);

  const Variable<double> alpha(reshape(constant(attention_scores(kQ, kK, {})), {2, 2}).value(),
                               true);
  softmax(alpha).backward(tensor({2, 2}, {1.0, 0.0, 0.0, 0.0}));
  EXPECT_TENSOR_NEAR(alpha.grad(), tensor({2, 2}, {0.2211810164, -0.2211810164, 0.0, 0.0}), 1e-10);
}

// Heads are consecutive features, and a token's heads are joined with each other.
TEST(AttentionGolden, S3_7_S3_8_TwoHeads) {
  const Attention two{.heads = 2};
  const auto p = attention_probabilities(kQ, kK, two);
  EXPECT_TENSOR_NEAR(p,
                     tensor({1, 2, 2, 2}, {0.731059, 0.268941, 0.731059, 0.268941, 0.119203,
                                           0.880797, 0.268941, 0.731059}),
                     1e-6);
  const auto y = attention(constant(kQ), constant(kK), constant(kK), two);
  EXPECT_TENSOR_NEAR(y.value(), tensor({1, 2, 2}, {0.731059, 0.880797, 0.731059, 0.731059}), 1e-6);
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
