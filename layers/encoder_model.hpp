// EncoderModel: input embedding, encoder, read-out: everything from a batch to its logits.
#pragma once

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/encoder.hpp>
#include <xgrad/layers/pooling.hpp>

namespace xgrad {

struct EncoderModelOptions {
  InputOptions input;  ///< features and class_token follow from the rest
  EncoderOptions encoder;
  bool adjacency = false;  ///< tokens see what ModelInput::adjacency lets them; else all
  Pool pool = Pool::none;
  std::size_t classes = 0;
};

/// Parameters under embedding, encoder, pool and head. Logits (B, N, classes) for Pool::none, else
/// (B, classes).
template <class T>
class EncoderModel final : public SequenceModel<T> {
 public:
  EncoderModel(const Scope<T>& root, const EncoderModelOptions& options);

  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  bool adjacency_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  Pooling<T> pool_;
  Linear<T> head_;
};

}  // namespace xgrad
