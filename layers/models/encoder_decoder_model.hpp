// EncoderDecoderModel: a sequence-to-sequence model that decides the length of its output.
#pragma once

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/models/decoder.hpp>
#include <xgrad/layers/models/decoding.hpp>

namespace xgrad {

/// The decoder's input under teacher forcing, (B, M): `begin`, then `outputs` (B, M) without the
/// last column. Negative ids (padding) become 0.
Ids shift_right(const Ids& outputs, std::int32_t begin);

/// Sizes and settings of an EncoderDecoderModel.
struct EncoderDecoderOptions {
  InputOptions input = {};      ///< input; `features` is ignored, the encoder's width counts
  EncoderOptions encoder = {};  ///< encoder and decoder
  std::size_t classes = 0;      ///< output classes; the last one ends an output
  std::size_t max_outputs = 0;  ///< length of the longest output, including the end
};

/// Predicts each class of the output from the encoded input and the output before it (Vaswani et
/// al. 2017). Logits (B, M, classes) for outputs of length M.
///
/// The decoder reads ModelInput::outputs shifted by one place, after a begin token with the id
/// `classes`. In training these are the targets (teacher forcing). Parameters under embedding,
/// encoder, output_embedding, decoder and head.
template <class T>
class EncoderDecoderModel final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`.
  EncoderDecoderModel(const Scope<T>& root, const EncoderDecoderOptions& options);

  /// Throws ShapeError when input.outputs is absent, of length 0 or too long.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;
  /// Starts empty outputs. Reads the input once.
  std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const override;

 private:
  class Outputs;

  std::size_t classes_;
  InputEmbedding<T> embedding_;
  Encoder<T> encoder_;
  InputEmbedding<T> output_embedding_;
  Decoder<T> decoder_;
  Linear<T> head_;
};

}  // namespace xgrad
