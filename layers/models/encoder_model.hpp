// EncoderModel: input embedding, encoder, pooling and output head.
#pragma once

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/models/decoding.hpp>
#include <xgrad/layers/models/encoder.hpp>
#include <xgrad/layers/pooling.hpp>

namespace xgrad {

/// Sizes and settings of an EncoderModel.
struct EncoderModelOptions {
  InputOptions input = {};      ///< input; `features` and `class_token` are set by the model
  EncoderOptions encoder = {};  ///< encoder
  bool adjacency = false;       ///< masks attention by ModelInput::adjacency
  Pool pool = Pool::none;       ///< reduces a sequence to one vector; none: logits per token
  std::size_t classes = 0;      ///< output classes
};

/// Computes logits (B, N, classes) for Pool::none, else (B, classes). Parameters under embedding,
/// encoder, pool and head.
template <class T>
class EncoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderModel(const Scope<T>& root, const EncoderModelOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;
  /// Continues its input, token ids without padding, as a language model: the logits for the last
  /// token are those of the token that follows. Throws ShapeError unless each token sees itself and
  /// those before it only: causal, without pooling, batch norm, adjacency and relative_index.
  std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const override;

 private:
  class Continuation;

  bool adjacency_, is_causal_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  Pooling<T> pool_;
  Linear<T> head_;
};

}  // namespace xgrad
