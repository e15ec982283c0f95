// Encoder: blocks of attention and MLP with residuals, stacked; with cross-attention, a decoder.
#pragma once

#include <optional>
#include <vector>

#include <xgrad/layers/attention/attention.hpp>
#include <xgrad/layers/layers.hpp>

namespace xgrad {

/// The place of a block's norms: before each sublayer, after each residual sum, before and after
/// each sublayer, or nowhere.
enum class NormOrder { pre, post, sandwich, none };

/// Sizes and settings of an Encoder.
struct EncoderOptions {
  std::size_t layers = 1;                              ///< blocks
  MultiHeadAttentionOptions attention = {};            ///< attention of each block, with width D
  std::size_t feedforward = 0;                         ///< hidden width F of the MLP; 0: 4 D
  Activation activation = Activation::gelu;            ///< activation function of the MLP
  NormOrder norm = NormOrder::pre;                     ///< where a block normalises
  Normalization normalization = Normalization::layer;  ///< kind of every norm, the final one too
  bool final_norm = true;                              ///< adds a norm after the last block
  double norm_eps = 1e-5;                              ///< eps of every norm
  double dropout = 0;  ///< dropout rate after each sublayer and inside the MLP
  /// Stochastic depth rate of the sublayers of the last block; block l of L has l/L of this rate.
  double stochastic_depth = 0;
  /// Makes a decoder: self-attention is causal, and after it, each block attends to a Memory.
  bool decoder = false;
};

/// A residual connection around a sublayer f. Norms and dropout are named by the sublayer's number,
/// here 1:
///
///     pre:         x + dropout1(f(norm1(x)))
///     post:        norm1(x + dropout1(f(x)))
///     sandwich:    x + dropout1(norm1_post(f(norm1(x)))), Ding et al. 2021
///     none:        x + dropout1(f(x))
///
/// Stochastic depth (Huang et al. 2016) multiplies the term added to x by 0 for some examples, and
/// by 1 / (1 - rate) for the others, as torchvision.ops.stochastic_depth in mode "row".
template <class T>
class Residual {
 public:
  /// Makes its norms. With number 1, the norm has the name scope.path() + ".norm1".
  Residual(const Scope<T>& scope, std::size_t number, const EncoderOptions& options);

  /// x (B, N, D) -> (B, N, D), with `sublayer` as f. The norms use the mask (B, N); null: no
  /// padding.
  template <class Sublayer>
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask, const Context& context,
                         const Sublayer& sublayer) const {
    return finish(sublayer(before_ ? (*before_)(x, mask) : x), x, mask, context);
  }

 private:
  Variable<T> finish(Variable<T> y, const Variable<T>& x, const SharedMask& mask,
                     const Context& context) const;

  double dropout_, stochastic_depth_;
  std::uint64_t id_, depth_id_;
  std::optional<Norm<T>> before_, inside_, after_;
};

/// The sequence that a decoder attends to.
template <class T>
struct Memory {
  Variable<T> tokens = {};          ///< (B, M, D)
  AttentionMasks masks = {};        ///< tokens that may be attended to
  SharedMask query_mask = nullptr;  ///< (B, N), 0 = padded decoder token; for Context::activations
};

/// The state that an Encoder keeps between two steps of decoding.
template <class T>
struct EncoderCache {
  std::vector<KVCache<T>> tokens = {};  ///< keys and values of the tokens so far, for each block
  std::vector<KVCache<T>> memory = {};  ///< keys and values of a decoder's memory, for each block
  AttentionMasks masks = {};            ///< masks of the memory
};

/// A block: z' = residual1(z, self_attn), z'' = residual2(z', mlp). In pre-norm order, this is
///
///     z' = z + self_attn(norm1(z)),  z'' = z' + mlp(norm2(z'))
///
/// Residual lists the other orders. Parameters under self_attn, linear1, linear2, norm1 and norm2,
/// as in PyTorch's nn.TransformerEncoderLayer; in sandwich order also norm1_post and norm2_post. In
/// a decoder, z + multihead_attn(norm2(z), memory) comes before the MLP, and the norm of the MLP is
/// norm3, as in nn.TransformerDecoderLayer. Vaswani et al. 2017.
template <class T>
class EncoderBlock {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  EncoderBlock(const Scope<T>& scope, const EncoderOptions& options);

  /// x (B, N, D) -> (B, N, D); `bias`: see MultiHeadAttention. A decoder needs `memory`.
  Variable<T> operator()(const Variable<T>& x, const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {}, const Memory<T>& memory = {}) const;
  /// The keys and values of a decoder's memory, for decode_step().
  KVCache<T> project_memory(const Variable<T>& memory) const {
    return cross_attention_->project_memory(memory);
  }
  /// One step of decoding, by MultiHeadAttention::decode_step(). `index` is the number of this
  /// block in `cache`. Requires: no batch norm, which would mix the samples.
  Variable<T> decode_step(const Variable<T>& x, EncoderCache<T>& cache, std::size_t index) const;

 private:
  std::uint64_t id_;
  MultiHeadAttention<T> self_attention_;
  std::optional<MultiHeadAttention<T>> cross_attention_;  // in a decoder
  Mlp<T> mlp_;
  std::vector<Residual<T>> residuals_;  // one for each sublayer
};

/// Blocks one after the other, then the final norm. Without blocks and norm, the result is x.
/// Parameters layers.0, layers.1, ... and norm, as in PyTorch's nn.TransformerEncoder and
/// nn.TransformerDecoder.
template <class T>
class Encoder {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  Encoder(const Scope<T>& scope, const EncoderOptions& options);

  /// x (B, N, D) -> (B, N, D); every block gets the same bias and memory.
  Variable<T> operator()(Variable<T> x, const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {}, const Memory<T>& memory = {}) const;
  /// Starts decoding: returns the cache before the first token. In a decoder, this cache already
  /// holds the keys and values of the memory.
  EncoderCache<T> start(const Memory<T>& memory = {}) const;
  /// Decodes causally: x (B, N, D) -> (B, N, D), where x are the tokens that follow the tokens of
  /// `cache`. Appends the keys and values of x to `cache`, like MultiHeadAttention::decode_step().
  Variable<T> decode_step(Variable<T> x, EncoderCache<T>& cache) const;

 private:
  std::vector<EncoderBlock<T>> blocks_;
  std::optional<Norm<T>> norm_;  // the final norm
};

}  // namespace xgrad
