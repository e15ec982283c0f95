// EncoderDecoderModel: sequence to sequence, where the model decides how long the output is.
#pragma once

#include <xgrad/layers/decoder.hpp>
#include <xgrad/layers/embedding.hpp>

namespace xgrad {

/// What a decoder reads while it is taught: `begin`, then all outputs (B, M) but the last; 0 for
/// padding.
Ids moved_on(const Ids& outputs, std::int32_t begin);

/// What an EncoderDecoderModel is made of.
struct EncoderDecoderOptions {
  InputOptions input = {};      ///< features follow from the rest
  EncoderOptions encoder = {};  ///< of the decoder too
  std::size_t classes = 0;      ///< of the output; the last one ends it
  std::size_t max_outputs = 0;  ///< classes of the longest output, the end included
};

/// Reads a sequence and, place by place, says what comes next in the output: from the encoded input
/// and the output before that place (Vaswani et al. 2017; S4.7). Logits (B, M, classes) for an
/// output of M classes.
///
/// In training the output before is the right one (teacher forcing): the decoder reads the outputs
/// moved on by one place, behind a begin token, whose id is `classes`. Parameters under embedding,
/// encoder, output_embedding, decoder and head. An AttentionObserver sees the encoder only.
template <class T>
class EncoderDecoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderDecoderModel(const Scope<T>& root, const EncoderDecoderOptions& options);

  /// Throws ShapeError when input.outputs is absent or too long.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  std::size_t classes_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  InputEmbedding<T> output_embedding_;
  Decoder<T> decoder_;
  Linear<T> head_;
};

}  // namespace xgrad
