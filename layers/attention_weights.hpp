// What stands between queries, keys and the weights of the values: score functions, activations,
// and how they depend on the number of keys.
#pragma once

#include <optional>

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

/// How a query and a key are compared:
///
///     dot       scale q.k, scale 1/sqrt(d_h) (S0.8, Vaswani et al. 2017)
///     cosine    scale q.k / (|q| |k|), scale sqrt(d_h) (S2.9; QK-norm, Henry et al. 2020)
///     additive  scale w.tanh(q + k), scale 1 (S4.13, Bahdanau et al. 2015); w_q and w_k of the
///               layer are the two maps, so this is w.tanh([W_q W_k] [x_i; x_j])
enum class Score { dot, cosine, additive };

/// What makes weights of scores (S4.15). relu and squared_relu: Wortsman et al. 2023; sigmoid:
/// Ramapuram et al. 2024; sparsemax: Martins & Astudillo 2016.
enum class AttentionActivation { softmax, relu, squared_relu, sigmoid, sparsemax };

/// How weights are made of queries and keys.
struct WeightOptions {
  Score score = Score::dot;                                       ///< how they are compared
  AttentionActivation activation = AttentionActivation::softmax;  ///< what makes weights of that
  double temperature = 1;                                         ///< divides the scale
  bool log_scale = false;  ///< scores times log of the number of keys seen, Chiang & Cholak 2022
  bool mean = false;       ///< weights divided by the number of keys seen, Wortsman et al. 2023
};

/// What the dot products of queries and keys are multiplied by; where they are cosines, those of
/// vectors of length sqrt(d_h). The `scale` above unless another is given.
double score_factor(const WeightOptions& how, std::optional<double> scale, std::size_t head_dim);

/// Whether attention() computes these weights block by block; otherwise they are stored, N x M.
bool is_fused(const WeightOptions& how);

/// activation(score(q, k) + bias) over the keys that no mask hides, (B, H, N, M), 0 elsewhere;
/// differentiable, stored. q (B, N, H d), k (B, M, H d), additive (H, d) for Score::additive; of
/// `options` heads, scale and masks.
template <class T>
Variable<T> attention_weights(const Variable<T>& q, const Variable<T>& k, const WeightOptions& how,
                              const Attention& options, const Variable<T>& bias = {},
                              const Variable<T>& additive = {});

/// The values weighted, (B, N, H d_v): by attention() where the weights are fused, else by
/// dropout(attention_weights()).
template <class T>
Variable<T> attend_values(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                          const WeightOptions& how, Attention options, const Variable<T>& bias = {},
                          const Variable<T>& additive = {});

}  // namespace xgrad
