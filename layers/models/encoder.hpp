// EncoderBlock and Encoder: attention and MLP with residuals, stacked.
#pragma once

#include <optional>
#include <vector>

#include <xgrad/layers/attention/attention.hpp>
#include <xgrad/layers/mlp.hpp>
#include <xgrad/layers/models/residual.hpp>

namespace xgrad {

/// Sizes and settings of an Encoder or a Decoder.
struct EncoderOptions {
  std::size_t layers = 1;                              ///< blocks
  MultiHeadAttentionOptions attention = {};            ///< attention of each block, with width D
  std::size_t feedforward = 0;                         ///< hidden width F of the MLP; 0: 4 D
  Activation activation = Activation::gelu;            ///< activation of the MLP
  NormOrder norm = NormOrder::pre;                     ///< where a block normalises
  Normalization normalization = Normalization::layer;  ///< kind of every norm, the final one too
  bool final_norm = true;                              ///< adds a norm after the last block
  double norm_eps = 1e-5;                              ///< eps of every norm
  double dropout = 0;  ///< dropout rate after each sublayer and inside the MLP
  /// Stochastic depth of the sublayers of the last block; block l of L has l/L of it.
  double stochastic_depth = 0;
};

/// The options of each norm in an encoder or decoder.
NormOptions norm_options(const EncoderOptions& options);
/// The options of each residual in a block of an encoder or decoder.
ResidualOptions residual_options(const EncoderOptions& options);
/// The hidden width F of the MLP, with the default resolved.
std::size_t feedforward_width(const EncoderOptions& options);

/// z' = residual1(z, attention), z'' = residual2(z', mlp); pre-norm is
///
///     z' = z + attention(norm1(z)),  z'' = z' + mlp(norm2(z'))
///
/// and Residual lists the other orders. Parameters under self_attn, linear1, linear2, norm1 and
/// norm2; in sandwich order also norm1_post and norm2_post.
template <class T>
class EncoderBlock {
 public:
  /// Makes its parameters below `scope`.
  EncoderBlock(const Scope<T>& scope, const EncoderOptions& options);

  /// x (B, N, D) -> (B, N, D); `bias` is that of MultiHeadAttention.
  Variable<T> operator()(const Variable<T>& x, const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {}) const;
  /// The block with MultiHeadAttention::decode_step(), for decoding. Batch norm would mix the
  /// samples.
  Variable<T> decode_step(const Variable<T>& x, KVCache<T>& cache) const;

 private:
  std::uint64_t id_;
  MultiHeadAttention<T> attention_;
  Mlp<T> mlp_;
  Residual<T> residual1_;
  Residual<T> residual2_;
};

/// The layers of an encoder or decoder.
template <class T, class Block>
struct BlockStack {
  /// Makes their parameters below `scope`: layers.0, layers.1, ... and norm.
  BlockStack(const Scope<T>& scope, const EncoderOptions& options) {
    for (std::size_t i = 0; i < options.layers; ++i) {
      EncoderOptions own = options;
      own.stochastic_depth *= double(i + 1) / double(options.layers);
      blocks.emplace_back(scope / "layers" / i, own);
    }
    if (!options.final_norm) return;
    norm.emplace(scope / "norm", options.attention.width, norm_options(options));
  }

  std::vector<Block> blocks;    ///< run one after the other
  std::optional<Norm<T>> norm;  ///< the final norm
};

/// Blocks one after the other, then the final norm; the identity without blocks and norm.
/// Parameters are named as in PyTorch's nn.TransformerEncoder.
template <class T>
class Encoder {
 public:
  /// Makes its parameters below `scope`.
  Encoder(const Scope<T>& scope, const EncoderOptions& options) : layers_(scope, options) {}

  /// x (B, N, D) -> (B, N, D); `bias` is that of MultiHeadAttention, in every block.
  Variable<T> operator()(Variable<T> x, const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {}) const;
  /// Causal: the tokens x (B, N, D) that follow those of `caches`, one for each block, as
  /// MultiHeadAttention::decode_step() -> (B, N, D). An empty list starts a sequence.
  Variable<T> decode_step(Variable<T> x, std::vector<KVCache<T>>& caches) const;

 private:
  BlockStack<T, EncoderBlock<T>> layers_;
};

}  // namespace xgrad
