// Attention weights from queries and keys: score functions, activation functions, and scaling by
// the number of keys.
#pragma once

#include <functional>
#include <optional>

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

/// The score function of a query q and a key k, and the default s of its factor `scale`:
///
///     dot       scale q.k, s = 1/sqrt(d_h) (Vaswani et al. 2017)
///     cosine    scale q.k / (|q| |k|), s = sqrt(d_h) (QK-norm, Henry et al. 2020)
///     additive  scale w.tanh(q + k), s = 1 (Bahdanau et al. 2015); q = W_q x_i and
///               k = W_k x_j, so this is w.tanh([W_q W_k] [x_i; x_j])
enum class Score { dot, cosine, additive };

/// The function that turns scores into weights. relu and squared_relu: Wortsman et al.
/// 2023; sigmoid: Ramapuram et al. 2024; sparsemax: Martins & Astudillo 2016.
enum class AttentionActivation { softmax, relu, squared_relu, sigmoid, sparsemax };

/// How attention weights are computed from queries and keys.
struct AttentionWeightOptions {
  Score score = Score::dot;                                       ///< score function
  AttentionActivation activation = AttentionActivation::softmax;  ///< turns scores into weights
  double temperature = 1;                                         ///< divides the scale
  bool log_scale = false;  ///< multiplies scores by ln(number of keys seen), Chiang & Cholak 2022
  bool mean = false;       ///< divides weights by the number of keys seen, Wortsman et al. 2023
};

/// The factor that turns the products of queries and keys into scores: `scale` (default: see Score)
/// divided by the temperature. For Score::cosine it is also divided by d_h, because queries and
/// keys are normalized to length sqrt(d_h).
double score_factor(const AttentionWeightOptions& weights, std::optional<double> scale,
                    std::size_t head_dim);

/// Whether attention() can compute these weights block by block. Other weights are stored, N x M
/// for each head.
bool is_fused(const AttentionWeightOptions& weights);

/// Receives the tensor x called `name`. Returns x, or a tensor of the same shape to replace x.
template <class T>
using TakeActivation = std::function<Variable<T>(const char* name, const Variable<T>& x)>;

/// The weights activation(score(q, k) + bias), (B, H, N, M), differentiable; 0 at hidden keys. q
/// (B, N, H d), k (B, M, H d), additive (H, d) for Score::additive. Reads `options` except dropout.
/// If given, `take` may replace the tensors "scores" (before masks hide keys) and "weights".
template <class T>
Variable<T> attention_weights(const Variable<T>& q, const Variable<T>& k,
                              const AttentionWeightOptions& weights,
                              const AttentionOptions& options, const Variable<T>& bias = {},
                              const Variable<T>& additive = {},
                              const TakeActivation<T>& take = nullptr);

/// The weighted sum of the values v (B, M, H d_v) for each query, (B, N, H d_v). Calls attention()
/// if is_fused(weights) and `take` is not given; otherwise computes dropout(attention_weights()) v.
template <class T>
Variable<T> attend_values(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                          const AttentionWeightOptions& weights, AttentionOptions options,
                          const Variable<T>& bias = {}, const Variable<T>& additive = {},
                          const TakeActivation<T>& take = nullptr);

}  // namespace xgrad
