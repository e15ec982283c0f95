#include <xgrad/layers/models/encoder_decoder_model.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

InputOptions input_options(const EncoderDecoderOptions& options) {
  InputOptions input = options.input;
  input.features = options.encoder.attention.width;
  return input;
}

InputOptions output_options(const EncoderDecoderOptions& options) {
  InputOptions output;
  output.vocabulary = options.classes + 1;
  output.max_length = options.max_outputs;
  output.features = options.encoder.attention.width;
  output.norm = options.input.norm;
  // Outputs have no rows and columns, and their length is not known in advance.
  const PositionKind kind = options.input.positions;
  output.positions = kind == PositionKind::learned_2d ? PositionKind::learned : kind;
  check_shape(kind != PositionKind::relative_index,
              "encoder_decoder: relative_index needs to know the length of the output in advance");
  return output;
}

}  // namespace

Ids shift_right(const Ids& outputs, std::int32_t begin) {
  const std::size_t length = outputs.shape()[1];
  Ids result = empty<std::int32_t>(outputs.shape());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    result.data()[i] = i % length == 0 ? begin : std::max(outputs.data()[i - 1], 0);
  }
  return result;
}

template <class T>
EncoderDecoderModel<T>::EncoderDecoderModel(const Scope<T>& root,
                                            const EncoderDecoderOptions& options)
    : classes_(options.classes),
      embedding_(root / "embedding", input_options(options)),
      encoder_(root / "encoder", options.encoder),
      output_embedding_(root / "output_embedding", output_options(options)),
      decoder_(root / "decoder", options.encoder),
      head_(root / "head", options.encoder.attention.width, options.classes) {}

template <class T>
Variable<T> EncoderDecoderModel<T>::operator()(const ModelInput<T>& input,
                                               const Context& context) const {
  check_shape(input.outputs != nullptr && input.outputs->dimension() == 2,
              "model: expected outputs (B, M) beside the input");
  const Variable<T> memory = encoder_(embedding_(input), {input.mask}, context);
  const Ids before = shift_right(*input.outputs, std::int32_t(classes_));
  ModelInput<T> output;
  output.ids = &before;
  Context writing = context;
  writing.attention = nullptr;  // the input's mask does not describe the output's padding
  return head_(decoder_(output_embedding_(output), memory, {input.mask}, writing));
}

#define XGRAD_INSTANTIATE(T) template class EncoderDecoderModel<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
