// Every op: one declaration and one formula each. Forward and backward stand in
// autograd/ops/<op>.cpp.
//
// All throw ShapeError, starting with the op's name, when shapes do not fit or an argument has no
// value and no default. B batch, N tokens, D width, H heads, V vocabulary.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad {

// Arithmetic. Shapes broadcast as in NumPy.

/// a + b
template <class T>
Variable<T> add(const Variable<T>& a, const Variable<T>& b);
/// a - b
template <class T>
Variable<T> sub(const Variable<T>& a, const Variable<T>& b);
/// a b, elementwise
template <class T>
Variable<T> mul(const Variable<T>& a, const Variable<T>& b);
/// a / b. As in floating point, x / 0 is infinite and 0 / 0 is NaN, and so are the gradients.
template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b);
/// a^b; NaN where a < 0 and b is no integer. The derivative by a is 0 where b = 0, and infinite at
/// a = 0 where 0 < b < 1. That by b is 0 at a = 0 where b >= 0, and NaN where a < 0.
template <class T>
Variable<T> pow(const Variable<T>& a, const Variable<T>& b);
/// c x
template <class T>
Variable<T> scale(const Variable<T>& x, std::type_identity_t<T> c);

// Elementwise functions.

/// max(x, 0); its derivative at 0 is 0
template <class T>
Variable<T> relu(const Variable<T>& x);
/// e^x
template <class T>
Variable<T> exp(const Variable<T>& x);
/// The natural logarithm: -inf at 0, where its derivative is inf, and NaN below, as is that.
template <class T>
Variable<T> log(const Variable<T>& x);
/// The square root; its derivative at 0 is inf. Both are NaN below 0.
template <class T>
Variable<T> sqrt(const Variable<T>& x);
/// min(max(x, min), max), min <= max; NaN stays NaN. The derivative is 1 from min to max, both
/// included, and 0 elsewhere.
template <class T>
Variable<T> clamp(const Variable<T>& x, std::type_identity_t<T> min, std::type_identity_t<T> max);
/// tanh x
template <class T>
Variable<T> tanh(const Variable<T>& x);

/// 1 / (1 + exp(-x))
template <class T>
Variable<T> sigmoid(const Variable<T>& x);
/// x / (1 + exp(-x)), also called swish. Hendrycks & Gimpel 2016.
template <class T>
Variable<T> silu(const Variable<T>& x);

/// The two forms of gelu().
enum class Gelu { exact, tanh };
/// exact: x Phi(x); tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). Hendrycks & Gimpel 2016.
template <class T>
Variable<T> gelu(const Variable<T>& x, Gelu kind = Gelu::exact);

// Shape.

/// The same elements in row-major order under another shape of the same size.
template <class T>
Variable<T> reshape(const Variable<T>& x, const Shape& shape);
/// Axes in another order: result axis i is axis axes[i] of x.
template <class T>
Variable<T> transpose(const Variable<T>& x, const std::vector<std::size_t>& axes);
/// Elements begin ... end-1 along an axis.
template <class T>
Variable<T> slice(const Variable<T>& x, std::size_t axis, std::size_t begin, std::size_t end);
/// Element `index` along an axis, which disappears.
template <class T>
Variable<T> select(const Variable<T>& x, std::size_t axis, std::size_t index);
/// Joins along an axis; all other extents are equal.
template <class T>
Variable<T> concat(const std::vector<Variable<T>>& parts, std::size_t axis);

// Reductions.

/// Sum of all elements, shape ().
template <class T>
Variable<T> sum(const Variable<T>& x);
/// Sum along an axis, which disappears.
template <class T>
Variable<T> sum(const Variable<T>& x, std::size_t axis);
/// Mean of all elements, shape ().
template <class T>
Variable<T> mean(const Variable<T>& x);
/// Mean along an axis, which disappears.
template <class T>
Variable<T> mean(const Variable<T>& x, std::size_t axis);
/// x (B, N, D), mask (B, N) -> (B, D): the mean over the tokens that the mask keeps; 0 where it
/// keeps none.
template <class T>
Variable<T> masked_mean(const Variable<T>& x, const Mask& mask);
/// x (B, N, D), mask (B, N) or null = all -> (B, D): the largest over the tokens that the mask
/// keeps, the first of equals; 0 where it keeps none.
template <class T>
Variable<T> masked_max(const Variable<T>& x, const std::shared_ptr<const Mask>& mask = nullptr);

// Products.

/// Product of the last two axes, op(a) op(b), with op transposing as asked; leading axes broadcast.
template <class T>
Variable<T> matmul(const Variable<T>& a, const Variable<T>& b, bool transpose_a = false,
                   bool transpose_b = false);

/// x (..., in), weight (out, in), bias (out) or absent -> x W^T + b, (..., out)
template <class T>
Variable<T> linear(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias = {});

// Normalisation, along the last axis.

/// exp(x_i) / sum_j exp(x_j), computed with the maximum subtracted; a row of -inf gives zeros
template <class T>
Variable<T> softmax(const Variable<T>& x);
/// max(x_i - tau, 0) with the tau that makes the sum 1: the nearest point where all are at least 0
/// and sum to 1; a row of -inf gives zeros. Martins & Astudillo 2016.
template <class T>
Variable<T> sparsemax(const Variable<T>& x);
/// log softmax(x)
template <class T>
Variable<T> log_softmax(const Variable<T>& x);
/// gamma (x - mean) / sqrt(var + eps) + beta, with the biased variance; weight and bias (D). S1.4,
/// Ba et al. 2016.
template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       double eps = 1e-5);
/// gamma x / sqrt(mean(x^2) + eps); weight (D). A row of zeros gives zeros. Zhang & Sennrich 2019.
template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& weight, double eps = 1e-5);
/// layer_norm's formula with the moments of each feature over all rows that the mask counts (S1.5);
/// x (..., D), mask (...), 1 = counts, null = all; other rows are not read and give zeros. Ioffe &
/// Szegedy 2015.
template <class T>
Variable<T> batch_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       const std::shared_ptr<const Mask>& mask = nullptr, double eps = 1e-5);

// Dropout: a factor 0 with probability p, else 1/(1-p), a function of (rng, sample, token, feature)
// alone: the first axis of x is the sample, the last the feature, what lies between the token.
// `first_sample` is the place of x's first sample in the logical batch. p in [0, 1). Srivastava et
// al. 2014.

/// What is dropped, and by which random numbers. Ops throw ShapeError when p > 0 and rng is absent.
struct Dropout {
  double p = 0;  ///< probability of a 0
  /// Its path names the place and the step, so that each has its own mask. Nothing else may draw
  /// from this stream; dropout_factors() says why.
  std::optional<Rng> rng = std::nullopt;
  std::uint32_t first_sample = 0;  ///< the place of x's first sample in the logical batch
};
/// x times the factors; x itself when p is 0
template <class T>
Variable<T> dropout(const Variable<T>& x, const Dropout& options);
/// residual + dropout(x), in one pass; both of one shape
template <class T>
Variable<T> dropout_add(const Variable<T>& x, const Variable<T>& residual, const Dropout& options);
/// dropout(gelu(linear(x, weight, bias))) in one pass over the product
template <class T>
Variable<T> linear_gelu(const Variable<T>& x, const Variable<T>& weight,
                        const Variable<T>& bias = {}, Gelu kind = Gelu::exact,
                        const Dropout& dropout = {});

// Lookups.

/// weight (V, D), ids (...) in [0, V) -> the rows weight[ids], (..., D). The gradient adds up over
/// equal ids.
template <class T>
Variable<T> embedding(const Variable<T>& weight, const Ids& ids);
/// The elements `indices`, in [0, extent), along an axis of x, which the axes of `indices` replace,
/// as NumPy's take() does it. The gradient adds up over equal indices.
template <class T>
Variable<T> gather(const Variable<T>& x, std::size_t axis, const Ids& indices);

// Positions.

/// Turns each pair of features (2i, 2i+1) of a head, at place n, by the angle n base^(-2i/d_h), so
/// that q.k depends on the distance of their places alone: x (B, N, W), of which the first `heads`
/// heads of `head_dim` features are turned and the rest is passed on. Su et al. 2021.
template <class T>
Variable<T> rotary_embedding(const Variable<T>& x, std::size_t head_dim, std::size_t heads,
                             double base = 10000);

// Attention: softmax(scale Q K^T + bias) V per head over the keys that no mask hides, dropout on
// the probabilities (S0.9, S0.14, S2.10; Vaswani et al. 2017). Heads are consecutive slices of the
// feature axis (S0.10). Works on blocks of query rows and recomputes in backward: memory is linear
// in N, but for a bias that wants a gradient. A row whose keys are all hidden gives 0 and no
// gradient.

/// How attention() weighs and what it hides.
struct Attention {
  std::size_t heads = 1;                           ///< H
  std::optional<double> scale = std::nullopt;      ///< default 1/sqrt(d_head), 1 if d_head = 0
  std::shared_ptr<const Mask> key_mask = nullptr;  ///< (B, M), 1 = may be attended to; null = all
  std::shared_ptr<const Mask> mask = nullptr;      ///< (B, N, M), the same for every query
  bool causal = false;                             ///< query i sees the keys 0 ... i only
  bool exclude_self = false;                       ///< query i does not see key i (S4.14)
  Dropout dropout = {};                            ///< of the probabilities
};
/// q (B, N, H d_k), k (B, M, H d_k), v (B, M, H d_v), bias absent or of a shape that broadcasts to
/// (B, H, N, M) -> (B, N, H d_v). A bias of -inf hides a key as a mask does.
template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const Attention& options, const Variable<T>& bias = {});
/// The same with q, k and v side by side in one (B, N, 3 H d), as a packed projection makes them.
template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const Attention& options,
                           const Variable<T>& bias = {});

/// Additive scores: s_bhnm = sum_c w_hc tanh(q_bnhc + k_bmhc); q (B, N, H a), k (B, M, H a), weight
/// (H, a) -> (B, H, N, M). Bahdanau et al. 2015, S4.13.
template <class T>
Variable<T> additive_scores(const Variable<T>& q, const Variable<T>& k, const Variable<T>& weight);

/// Which key each query may attend to, all masks of the options together: (B, N, M).
Mask attention_mask(const Attention& options, std::size_t batch, std::size_t queries,
                    std::size_t keys);

// For inspection, unfused: these do store N x M, and nothing is differentiated.

/// scale Q K^T before bias and masks, (B, H, N, M)
template <class T>
Tensor<T> attention_scores(const Tensor<T>& q, const Tensor<T>& k, const Attention& options);
/// The softmax of scores + bias over the keys that no mask hides, (B, H, N, M), before dropout; 0
/// at hidden keys.
template <class T>
Tensor<T> attention_probabilities(const Tensor<T>& q, const Tensor<T>& k, const Attention& options,
                                  const Variable<T>& bias = {});

// Losses, as a mean over the targets that count; shape ().

/// How cross_entropy() weighs its targets.
struct CrossEntropy {
  std::int32_t ignore_index = -100;  ///< a target with this value counts nothing
  double label_smoothing =
      0;  ///< in [0, 1): this part of the target's weight goes to all classes evenly
  std::vector<double> class_weights = {};  ///< (V) or empty
  /// Divides the sum of losses instead of the (weighted) number of targets that count: for a
  /// micro-batch, that of the whole logical batch.
  std::optional<double> normalizer = std::nullopt;
};
/// -log softmax(logits)[target]; logits (..., V), targets (...). 0 when no target counts. As
/// PyTorch's.
template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Ids& targets,
                          const CrossEntropy& options = {});

/// Which elements of an elementwise loss count, and what divides their sum.
struct LossMean {
  std::shared_ptr<const Mask> mask = nullptr;  ///< of x's shape, 1 = counts; null = all
  /// Instead of the number of elements that count, as that of CrossEntropy.
  std::optional<double> normalizer = std::nullopt;
};
/// mean (x - y)^2; x and y of one shape, as in those below, which are 0 when nothing counts. S4.8
template <class T>
Variable<T> mse_loss(const Variable<T>& x, const Variable<T>& y, const LossMean& options = {});
/// mean |x - y|; its derivative at 0 is 0. S4.8
template <class T>
Variable<T> l1_loss(const Variable<T>& x, const Variable<T>& y, const LossMean& options = {});
/// mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = x - y. S4.8, Huber
/// 1964.
template <class T>
Variable<T> huber_loss(const Variable<T>& x, const Variable<T>& y, double delta = 1,
                       const LossMean& options = {});
/// mean of -y log s - (1 - y) log(1 - s), with s = 1 / (1 + exp(-x)) and targets y in [0, 1]. S4.8
template <class T>
Variable<T> binary_cross_entropy_with_logits(const Variable<T>& x, const Variable<T>& y,
                                             const LossMean& options = {});

}  // namespace xgrad
