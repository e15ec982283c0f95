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
  Ids result = full(outputs.shape(), begin);
  xt::view(result, xt::all(), xt::range(1, length)) =
      xt::maximum(xt::view(outputs, xt::all(), xt::range(0, length - 1)), 0);
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
  check_shape(
      input.outputs != nullptr && input.outputs->dimension() == 2 && input.outputs->shape()[1] > 0,
      "model: expected outputs (B, M) beside the input, M at least 1");
  const Variable<T> memory = encoder_(embedding_(input), {input.mask}, context);
  const Ids before = shift_right(*input.outputs, std::int32_t(classes_));
  ModelInput<T> output;
  output.ids = &before;
  const auto mask = std::make_shared<const Mask>(xt::greater_equal(*input.outputs, 0));
  return head_(decoder_(output_embedding_(output), memory, {input.mask}, context, mask));
}

// The outputs of a batch, with the keys and values of the input and of the classes so far.
template <class T>
class EncoderDecoderModel<T>::Outputs final : public Decoding<T> {
 public:
  Outputs(const EncoderDecoderModel& model, const ModelInput<T>& input)
      : model_(model), masks_{input.mask} {
    const NoGrad no_grad;
    const Variable<T> memory = model.encoder_(model.embedding_(input), masks_, {});
    caches_ = model.decoder_.project_memory(memory);
    feed(std::vector<std::int32_t>(memory.shape()[0], std::int32_t(model.classes_)));
  }

  void append(const std::vector<std::int32_t>& classes) override {
    const NoGrad no_grad;
    feed(classes);
  }

  void select(const std::vector<std::size_t>& rows) override {
    const NoGrad no_grad;
    const Ids ids = row_ids(rows);
    for (DecoderCache<T>& cache : caches_) {
      cache.outputs.select(ids);
      cache.memory.select(ids);
    }
    masks_.key_mask = selected(masks_.key_mask, rows);
    this->select_logits(rows);
  }

 private:
  void feed(const std::vector<std::int32_t>& classes) {
    Ids ids = empty<std::int32_t>({classes.size(), 1});
    std::copy(classes.begin(), classes.end(), ids.data());
    ModelInput<T> output;
    output.ids = &ids;
    const Variable<T> x = model_.output_embedding_(output, length_++);
    this->set_last(model_.head_(model_.decoder_.decode_step(x, caches_, masks_)).value());
  }

  const EncoderDecoderModel& model_;
  AttentionMasks masks_;
  std::vector<DecoderCache<T>> caches_;
  std::size_t length_ = 0;  // tokens read, the begin token among them
};

template <class T>
std::unique_ptr<Decoding<T>> EncoderDecoderModel<T>::decode(const ModelInput<T>& input) const {
  return std::make_unique<Outputs>(*this, input);
}

#define XGRAD_INSTANTIATE(T) template class EncoderDecoderModel<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
