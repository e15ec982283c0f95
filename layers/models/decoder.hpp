// DecoderBlock and Decoder: causal self-attention, cross-attention to an encoder's output, and MLP,
// stacked.
#pragma once

#include <xgrad/layers/models/encoder.hpp>

namespace xgrad {

/// The state that a DecoderBlock keeps between two tokens of an output.
template <class T>
struct DecoderCache {
  KVCache<T> outputs;  ///< keys and values of the outputs so far
  KVCache<T> memory;   ///< those of the memory
};

/// z' = residual1(z, self_attn), z'' = residual2(z', attention to memory), z''' = residual3(z'',
/// mlp); pre-norm is
///
///     z' = z + self_attn(norm1(z)),  z'' = z' + multihead_attn(norm2(z'), memory),
///     z''' = z'' + mlp(norm3(z''))
///
/// where token i of self_attn sees tokens 0 ... i only. Parameters under self_attn, multihead_attn,
/// linear1, linear2, norm1, norm2 and norm3, as in PyTorch's nn.TransformerDecoderLayer. Vaswani et
/// al. 2017.
template <class T>
class DecoderBlock {
 public:
  /// Makes its parameters below `scope`.
  DecoderBlock(const Scope<T>& scope, const EncoderOptions& options);

  /// x (B, M, D), memory (B, N, D) -> (B, M, D); `memory_masks` masks the memory. `mask` (B, M)
  /// tells observers of attention which tokens of x are not padding (1); null: all.
  Variable<T> operator()(const Variable<T>& x, const Variable<T>& memory,
                         const AttentionMasks& memory_masks, const Context& context,
                         const SharedMask& mask = nullptr) const;
  /// The keys and values of `memory`, for decode_step().
  DecoderCache<T> project_memory(const Variable<T>& memory) const {
    return {{}, attention_.project_memory(memory)};
  }
  /// The block with MultiHeadAttention::decode_step(), for decoding.
  Variable<T> decode_step(const Variable<T>& x, DecoderCache<T>& cache,
                          const AttentionMasks& memory_masks) const;

 private:
  std::uint64_t id_;
  MultiHeadAttention<T> self_attention_;
  MultiHeadAttention<T> attention_;
  Mlp<T> mlp_;
  Residual<T> residual1_, residual2_, residual3_;
};

/// Blocks one after the other, then the final norm. Parameters are named as in PyTorch's
/// nn.TransformerDecoder.
template <class T>
class Decoder {
 public:
  /// Makes its parameters below `scope`.
  Decoder(const Scope<T>& scope, const EncoderOptions& options) : layers_(scope, options) {}

  /// x (B, M, D), memory (B, N, D) -> (B, M, D); masks as in DecoderBlock.
  Variable<T> operator()(Variable<T> x, const Variable<T>& memory,
                         const AttentionMasks& memory_masks, const Context& context,
                         const SharedMask& mask = nullptr) const;
  /// Starts an output: what each block keeps before its first token.
  std::vector<DecoderCache<T>> project_memory(const Variable<T>& memory) const;
  /// The tokens x (B, N, D) that follow those of `caches` -> (B, N, D); see
  /// MultiHeadAttention::decode_step().
  Variable<T> decode_step(Variable<T> x, std::vector<DecoderCache<T>>& caches,
                          const AttentionMasks& memory_masks) const;

 private:
  BlockStack<T, DecoderBlock<T>> layers_;
};

}  // namespace xgrad
