// EncoderModel: input embedding, encoder, read-out: everything from a batch to its logits.
#pragma once

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/encoder.hpp>
#include <xgrad/layers/pooling.hpp>

namespace xgrad {

/// What an EncoderModel is made of.
struct EncoderModelOptions {
  InputOptions input = {};      ///< features and class_token follow from the rest
  EncoderOptions encoder = {};  ///< its blocks
  bool adjacency = false;       ///< tokens see what ModelInput::adjacency lets them; else all
  Pool pool = Pool::none;   ///< what makes one vector of a sequence; none: a target for each token
  std::size_t classes = 0;  ///< V, of the output
};

/// Parameters under embedding, encoder, pool and head. Logits (B, N, classes) for Pool::none, else
/// (B, classes).
template <class T>
class EncoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderModel(const Scope<T>& root, const EncoderModelOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  bool adjacency_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  Pooling<T> pool_;
  Linear<T> head_;
};

}  // namespace xgrad
