// All ops, each with its formula. Forward and backward are in autograd/ops/; docs/spec.md
// lists the tests that compare formulas with worked examples.
//
// Every op throws ShapeError, with a message that starts with the op's name, when shapes do not fit
// or a required argument has no value. Letters in shapes: B batch size, N tokens (in attention:
// queries), M keys, D width, H heads, V vocabulary size.
#pragma once

#include <concepts>
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
/// a / b. As in floating point, x / 0 is infinite and 0 / 0 is NaN. The gradients there are
/// infinite or NaN too.
template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b);
/// a^b; NaN where a < 0 and b is not an integer. The derivative with respect to a is 0 where b = 0,
/// and infinite at a = 0 where 0 < b < 1. The derivative with respect to b is 0 where a = 0 and b
/// >= 0, and NaN where a < 0.
template <class T>
Variable<T> pow(const Variable<T>& a, const Variable<T>& b);
/// c x
template <class T>
Variable<T> scale(const Variable<T>& x, std::type_identity_t<T> c);

namespace detail {
template <class T>
Variable<T> where(const Mask& condition, const Variable<T>& x, const Variable<T>& y);
}  // namespace detail

/// where(condition, x, y): x where the condition is not 0, else y; all three broadcast. An element
/// that is not taken gets the gradient 0. But if that element is the result of an op with an
/// infinite derivative, such as log() at 0, the op's backward computes 0 * inf = NaN. To avoid
/// that, clamp() the input of the op. `where` is an object, not a function, so that the compiler
/// does not consider xtensor's function of the same name.
inline constexpr auto where = []<class T>(const Mask& condition, const Variable<T>& x,
                                          const Variable<T>& y) {
  return detail::where(condition, x, y);
};

// Elementwise functions.

/// max(x, 0); its derivative at 0 is 0
template <class T>
Variable<T> relu(const Variable<T>& x);
/// e^x
template <class T>
Variable<T> exp(const Variable<T>& x);
/// The natural logarithm. The value at 0 is -inf and the derivative inf; below 0 both are NaN.
template <class T>
Variable<T> log(const Variable<T>& x);
/// The square root; its derivative at 0 is inf. Below 0, root and derivative are NaN.
template <class T>
Variable<T> sqrt(const Variable<T>& x);
/// min(max(x, min), max), min <= max; NaN stays NaN. The derivative is 1 from min to max, both
/// included, and 0 elsewhere.
template <class T>
Variable<T> clamp(const Variable<T>& x, std::type_identity_t<T> min, std::type_identity_t<T> max);
/// sign(x) log(1 + |x|); Hafner et al. 2023. softmax(symlog(x)) is StableMax: s(x_c) / sum_k
/// s(x_k), with s(x) = 1 + x for x >= 0, else 1 / (1 - x). StableMax approaches 0 and 1 far more
/// slowly than softmax(x). Prieto et al. 2025.
template <class T>
Variable<T> symlog(const Variable<T>& x);
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

// Shape. Here and below, a negative axis counts from the end: -1 is the last one.

/// The elements of x, in row-major order, in another shape of the same size.
template <class T>
Variable<T> reshape(const Variable<T>& x, const Shape& shape);
/// Permutes axes: axis i of the result is axis axes[i] of x.
template <class T>
Variable<T> transpose(const Variable<T>& x, const std::vector<std::ptrdiff_t>& axes);
/// Elements begin ... end-1 along an axis, begin < end.
template <class T>
Variable<T> slice(const Variable<T>& x, std::ptrdiff_t axis, std::size_t begin, std::size_t end);
/// Element `index` along an axis, which is removed; -1 is the last element.
template <class T>
Variable<T> select(const Variable<T>& x, std::ptrdiff_t axis, std::ptrdiff_t index);
/// Joins tensors along an axis; their other axes must have equal sizes.
template <class T>
Variable<T> concat(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis);

// Reductions. The constraint std::floating_point hides them from xtensor, which calls sum<T> with T
// = void on its own tensors.

/// Sum of all elements, shape ().
template <std::floating_point T>
Variable<T> sum(const Variable<T>& x);
/// Sum along an axis, which is removed.
template <std::floating_point T>
Variable<T> sum(const Variable<T>& x, std::ptrdiff_t axis);
/// Mean of all elements, shape ().
template <std::floating_point T>
Variable<T> mean(const Variable<T>& x);
/// Mean along an axis, which is removed.
template <std::floating_point T>
Variable<T> mean(const Variable<T>& x, std::ptrdiff_t axis);
/// The mean over the tokens that the mask keeps; 0 if all tokens are masked. x (B, N, D) -> (B, D).
/// mask (B, N); null keeps all tokens.
template <class T>
Variable<T> masked_mean(const Variable<T>& x, const SharedMask& mask);
/// The maximum of each feature over the tokens that the mask keeps; 0 if all tokens are masked. Of
/// equal maxima, the first gets the gradient. x (B, N, D) -> (B, D). mask (B, N); null keeps all.
template <class T>
Variable<T> masked_max(const Variable<T>& x, const SharedMask& mask = nullptr);

// Products.

/// Matrix product over the last two axes, each factor transposed if asked; leading axes broadcast.
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
/// max(x_i - tau, 0) with the tau that makes the sum 1. This is the projection of x onto the
/// probability simplex. A row of -inf gives zeros. Martins & Astudillo 2016.
template <class T>
Variable<T> sparsemax(const Variable<T>& x);
/// log softmax(x)
template <class T>
Variable<T> log_softmax(const Variable<T>& x);
/// gamma (x - mean) / sqrt(var + eps) + beta, with the biased variance; gamma = weight (D), beta =
/// bias (D). Ba et al. 2016.
template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       double eps = 1e-5);
/// gamma x / sqrt(mean(x^2) + eps); gamma = weight (D). A row of zeros gives zeros. Zhang &
/// Sennrich 2019.
template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& weight, double eps = 1e-5);
/// The formula of layer_norm, but with the mean and variance of each feature over all unmasked
/// rows. x (..., D); mask (...), 1 = count the row, null = all; masked rows are not read and give
/// zeros. Ioffe & Szegedy 2015.
template <class T>
Variable<T> batch_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       const SharedMask& mask = nullptr, double eps = 1e-5);

// Dropout multiplies each element by 0 with probability p, else by 1/(1-p). The factor depends on
// (rng, sample, token, feature) alone: the first axis of x is the sample, the last axis the
// feature, and the axes between them the token. Srivastava et al. 2014.

/// Options of dropout. Ops throw ShapeError when p is out of range, or when p > 0 and rng is
/// absent: without a stream of random numbers, every step would drop the same elements.
struct DropoutOptions {
  double p = 0;  ///< probability of a 0, in [0, 1)
  /// The stream of random numbers. Give each layer and each step its own stream: two ops with the
  /// same stream drop the same elements. Draw nothing else from it; dropout_factors() says why.
  std::optional<Rng> rng = std::nullopt;
  std::uint32_t first_sample = 0;  ///< index of x's first sample in the step's whole batch
};
/// x times the dropout factors; x itself when p is 0
template <class T>
Variable<T> dropout(const Variable<T>& x, const DropoutOptions& options);
/// residual + dropout(x), in one pass; x and residual have the same shape
template <class T>
Variable<T> dropout_add(const Variable<T>& x, const Variable<T>& residual,
                        const DropoutOptions& options);
/// dropout(gelu(linear(x, weight, bias))) in one pass over the product
template <class T>
Variable<T> linear_gelu(const Variable<T>& x, const Variable<T>& weight,
                        const Variable<T>& bias = {}, Gelu kind = Gelu::exact,
                        const DropoutOptions& dropout = {});

// Lookups.

/// The rows weight[ids]: weight (V, D), ids (...) in [0, V) -> (..., D). Gradients of equal ids add
/// up.
template <class T>
Variable<T> embedding(const Variable<T>& weight, const Ids& ids);
/// The elements of x at `indices`, in [0, extent), along an axis. The axes of `indices` replace
/// that axis, as in NumPy's take(). Gradients of equal indices add up.
template <class T>
Variable<T> take(const Variable<T>& x, std::ptrdiff_t axis, const Ids& indices);
/// The index of the largest element along an axis, which is removed; of equal elements, the first.
/// As in NumPy, NaN counts as larger than any number. Not an op: it has no derivative. Throws
/// ShapeError when the axis has no elements.
template <class T>
Ids argmax(const Tensor<T>& x, std::ptrdiff_t axis);

// Positions.

/// Rotates feature pair (2i, 2i+1) of each head at position n by the angle n base^(-2i/head_dim).
/// The product q.k then depends on the distance of the two positions, not on the positions
/// themselves. x (B, N, W): rotates the first `heads` heads and copies the other features. A head
/// has `head_dim` features, an even number. The first token has position `first`. Su et al. 2021.
template <class T>
Variable<T> rotary_embedding(const Variable<T>& x, std::size_t head_dim, std::size_t heads,
                             double base = 10000, std::size_t first = 0);

// Attention: softmax(scale Q K^T + bias) V per head over the keys that no mask hides, with dropout
// on the probabilities (Vaswani et al. 2017). Heads are consecutive slices of the feature axis. The
// ops process the queries in blocks, and backward computes the scores again. So memory is linear in
// N unless the bias requires a gradient. A query whose keys are all hidden gets the result 0 and
// the gradient 0.

/// The keys of a batch that its queries may attend to.
struct AttentionMasks {
  SharedMask key_mask = nullptr;  ///< (B, M), 1 = may be attended to; null = all
  SharedMask mask = nullptr;      ///< (B, N, M), 1 = this query may attend to this key; null = all
};
/// Options of attention().
struct AttentionOptions {
  std::size_t heads = 1;                       ///< H
  std::optional<double> scale = std::nullopt;  ///< default 1/sqrt(d_k), or 1 if d_k = 0
  AttentionMasks masks = {};                   ///< masks of the batch
  bool causal = false;                         ///< query i sees the keys 0 ... i only
  bool exclude_self = false;                   ///< query i does not see key i
  DropoutOptions dropout = {};                 ///< dropout on the probabilities
};
/// Attention of q (B, N, H d_k), k (B, M, H d_k), v (B, M, H d_v) -> (B, N, H d_v). The bias is
/// absent or broadcasts to (B, H, N, M); a bias of -inf hides a key, as a mask does.
template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const AttentionOptions& options, const Variable<T>& bias = {});
/// attention() of q, k and v that lie side by side in one tensor (B, N, 3 H d), such as the result
/// of one linear layer.
template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const AttentionOptions& options,
                           const Variable<T>& bias = {});

/// Additive scores: s_bhnm = sum_c w_hc tanh(q_bnhc + k_bmhc); q (B, N, H a), k (B, M, H a), weight
/// (H, a) -> (B, H, N, M). Bahdanau et al. 2015.
template <class T>
Variable<T> additive_scores(const Variable<T>& q, const Variable<T>& k, const Variable<T>& weight);

/// All masks of the options combined, (B, N, M): 1 where the query may attend to the key.
Mask attention_mask(const AttentionOptions& options, std::size_t batch, std::size_t queries,
                    std::size_t keys);

// For inspection. These functions store N x M numbers per head and have no derivative.

/// scale Q K^T before bias and masks, (B, H, N, M)
template <class T>
Tensor<T> attention_scores(const Tensor<T>& q, const Tensor<T>& k, const AttentionOptions& options);
/// The softmax of scores + bias over the keys that no mask hides, (B, H, N, M), before dropout; 0
/// at hidden keys.
template <class T>
Tensor<T> attention_probabilities(const Tensor<T>& q, const Tensor<T>& k,
                                  const AttentionOptions& options, const Variable<T>& bias = {});

// Losses: the mean over the targets that count, shape ().

/// Options of cross_entropy().
struct CrossEntropyOptions {
  std::int32_t ignore_index = -100;  ///< targets with this value do not count
  /// The part of a target's weight that is spread evenly over all classes, in [0, 1).
  double label_smoothing = 0;
  std::vector<double> class_weights = {};  ///< (V), at least 0; empty: all 1
  /// Divisor of the sum of losses, >= 0; 0 gives the loss 0. Default: the sum of class weights over
  /// the targets that count. With gradient accumulation, pass the sum of class weights over all
  /// micro-batches of the step.
  std::optional<double> normalizer = std::nullopt;
};
/// -log softmax(logits)[target]; logits (..., V), targets (...). 0 when no target counts; otherwise
/// the same as torch.nn.functional.cross_entropy.
template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Ids& targets,
                          const CrossEntropyOptions& options = {});

/// Options of the elementwise losses.
struct LossOptions {
  SharedMask mask = nullptr;  ///< of x's shape, 1 = counts; null = all
  /// Divisor of the sum of losses, >= 0; 0 gives the loss 0. Default: how many elements count.
  std::optional<double> normalizer = std::nullopt;
};
/// mean (x - y)^2. In this and the next losses, x and y have the same shape, and the loss is 0 when
/// no element counts.
template <class T>
Variable<T> mse_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options = {});
/// mean |x - y|; the derivative is 0 where x = y.
template <class T>
Variable<T> l1_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options = {});
/// mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = x - y and delta > 0.
/// Huber 1964.
template <class T>
Variable<T> huber_loss(const Variable<T>& x, const Variable<T>& y, double delta = 1,
                       const LossOptions& options = {});
/// mean of -y log s - (1 - y) log(1 - s), with s = 1 / (1 + exp(-x)) and targets y in [0, 1].
template <class T>
Variable<T> binary_cross_entropy_with_logits(const Variable<T>& x, const Variable<T>& y,
                                             const LossOptions& options = {});

}  // namespace xgrad
