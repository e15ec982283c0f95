// EncoderModel: input embedding, encoder, read-out: everything from a batch to its logits.
#pragma once

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/encoder.hpp>

namespace xgrad {

/// What the head reads: every token, the class token, or the mean over the tokens that the mask
/// keeps.
enum class Pool { none, cls, mean };

struct EncoderModelOptions {
  InputOptions input;  ///< features and class_token follow from the rest
  EncoderOptions encoder;
  Pool pool = Pool::none;
  std::size_t classes = 0;
};

/// Parameters under embedding, encoder and head. Logits (B, N, classes) for Pool::none, else (B,
/// classes).
template <class T>
class EncoderModel final : public SequenceModel<T> {
 public:
  EncoderModel(const Scope<T>& root, const EncoderModelOptions& options);

  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  Pool pool_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  Linear<T> head_;
};

}  // namespace xgrad
