// The models that a config chooses: EncoderModel, EncoderDecoderModel and WindowMlp.
#pragma once

#include <vector>

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/models/encoder.hpp>

namespace xgrad {

/// Sizes and settings of an EncoderModel.
struct EncoderModelOptions {
  InputOptions input = {};      ///< input; `features` and `class_token` are set by the model
  EncoderOptions encoder = {};  ///< encoder
  bool adjacency = false;       ///< masks attention by ModelInput::adjacency
  Pool pool = Pool::none;       ///< reduces a sequence to one vector; none: logits per token
  std::size_t classes = 0;      ///< output classes
  bool stablemax = false;       ///< applies symlog to the logits (StableMax); see OutputHead
};

/// Input embedding, encoder, pooling and output head. Logits (B, N, classes) for Pool::none, else
/// (B, classes). Parameters under embedding, encoder, pool and head.
template <class T>
class EncoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderModel(const Scope<T>& root, const EncoderModelOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;
  /// Continues the input, token ids without padding, as a language model: at each token, the logits
  /// predict the next token. Throws ShapeError unless each token depends only on itself and the
  /// tokens before it. So the model must be causal and have no pooling, batch norm, adjacency or
  /// relative_index.
  std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const override;

 private:
  bool adjacency_, is_causal_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  Pooling<T> pool_;
  OutputHead<T> head_;
};

/// The decoder's input under teacher forcing, (B, M): `begin`, then `outputs` (B, M) without the
/// last column. Negative ids (padding) become 0.
Ids shift_right(const Ids& outputs, std::int32_t begin);

/// Sizes and settings of an EncoderDecoderModel.
struct EncoderDecoderOptions {
  InputOptions input = {};      ///< input; the encoder's width replaces `features`
  EncoderOptions encoder = {};  ///< for encoder and decoder; the model sets encoder.decoder
  std::size_t classes = 0;      ///< output classes; the last class ends an output
  std::size_t max_outputs = 0;  ///< length of the longest output, including the end
  bool stablemax = false;       ///< applies symlog to the logits (StableMax); see OutputHead
};

/// A sequence-to-sequence model that decides the length of its output: it predicts each class from
/// the encoded input and the classes before it (Vaswani et al. 2017). Logits (B, M, classes) for
/// outputs of length M.
///
/// The decoder reads ModelInput::outputs shifted by one place, after a begin token with the id
/// `classes`. In training, ModelInput::outputs are the targets (teacher forcing). Parameters under
/// embedding, encoder, output_embedding, decoder and head.
template <class T>
class EncoderDecoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderDecoderModel(const Scope<T>& root, const EncoderDecoderOptions& options);

  /// Throws ShapeError when input.outputs is absent, of length 0 or too long for the positions.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;
  /// Starts with empty outputs. Runs the encoder only once, here.
  std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const override;

 private:
  std::size_t classes_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  InputEmbedding<T> output_embedding_;
  Encoder<T> decoder_;
  OutputHead<T> head_;
};

/// Sizes and settings of a WindowMlp.
struct WindowMlpOptions {
  InputOptions input = {};                   ///< input; `features` is the width of the embedding
  std::size_t window = 1;                    ///< tokens read together, odd; 1: each token alone
  std::size_t layers = 1;                    ///< hidden layers
  std::size_t hidden = 0;                    ///< F, width of a hidden layer
  Activation activation = Activation::gelu;  ///< after each hidden layer
  double dropout = 0;                        ///< dropout rate after each hidden layer
  Pool pool = Pool::none;   ///< reduces a sequence to one vector; none: logits per token
  std::size_t classes = 0;  ///< output classes
  bool stablemax = false;   ///< applies symlog to the logits (StableMax); see OutputHead
};

/// A baseline without attention, an MLP on each token and its neighbours:
/// h_n = f(... f([x_(n-w) ... x_n ... x_(n+w)] W_0^T + b_0) ...) with the activation function f and
/// a window of 2 w + 1 tokens. x is 0 outside the sequence and at padding. The head turns h, or
/// the result of pooling h, into logits.
///
/// Parameters under embedding, layers, pool and head.
template <class T>
class WindowMlp final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`. Throws ShapeError when the window is even, or for
  /// Pool::cls, because only attention lets a class token read all tokens.
  WindowMlp(const Scope<T>& root, const WindowMlpOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  WindowMlpOptions options_;
  InputEmbedding<T> embedding_;
  std::vector<Linear<T>> layers_;
  std::vector<std::uint64_t> ids_;  // Scope::id() of each layer, for its dropout
  Pooling<T> pool_;
  OutputHead<T> head_;
};

}  // namespace xgrad
