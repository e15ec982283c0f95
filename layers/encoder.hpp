// EncoderBlock and Encoder: attention and MLP with residuals, stacked.
#pragma once

#include <optional>
#include <vector>

#include <xgrad/layers/attention.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/mlp.hpp>

namespace xgrad {

/// Where a block normalises: before each sublayer, after each residual, or nowhere.
enum class NormOrder { pre, post, none };

struct EncoderOptions {
  std::size_t layers = 1;
  AttentionOptions attention;
  std::size_t feedforward = 0;  ///< hidden width F of the MLP; 0: 4 D
  Activation activation = Activation::gelu;
  NormOrder norm = NormOrder::pre;
  bool final_norm = true;  ///< a LayerNorm after the last block
  double norm_eps = 1e-5;
  double dropout = 0;  ///< after each sublayer and inside the MLP
};

/// pre (S1.3):  z' = z + attention(norm1(z)),  z'' = z' + mlp(norm2(z'))
/// post:        z' = norm1(z + attention(z)),  z'' = norm2(z' + mlp(z'))
/// none:        z' = z + attention(z),         z'' = z' + mlp(z')
template <class T>
class EncoderBlock {
 public:
  EncoderBlock(const Scope<T>& scope, const EncoderOptions& options);

  /// x (B, N, D) -> (B, N, D)
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& key_mask,
                         const Context& context) const;

 private:
  NormOrder norm_;
  double dropout_;
  std::uint64_t attention_site_;
  std::uint64_t mlp_site_;
  MultiHeadAttention<T> attention_;
  Mlp<T> mlp_;
  std::optional<LayerNorm<T>> norm1_;
  std::optional<LayerNorm<T>> norm2_;
};

/// Blocks one after the other (S1.1), then the final norm; without blocks and norm the identity.
/// Names as PyTorch's nn.TransformerEncoder gives them.
template <class T>
class Encoder {
 public:
  Encoder(const Scope<T>& scope, const EncoderOptions& options);

  Variable<T> operator()(Variable<T> x, const std::shared_ptr<const Mask>& key_mask,
                         const Context& context) const;

 private:
  std::vector<EncoderBlock<T>> layers_;
  std::optional<LayerNorm<T>> norm_;
};

}  // namespace xgrad
