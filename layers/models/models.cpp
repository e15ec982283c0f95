#include <xgrad/layers/models/models.hpp>

#include <algorithm>

#include <xgrad/layers/models/generate.hpp>

namespace xgrad {

namespace {

InputOptions of_width(InputOptions input, const EncoderOptions& encoder) {
  input.features = encoder.attention.width;
  return input;
}

InputOptions input_options(const EncoderModelOptions& options) {
  InputOptions input = of_width(options.input, options.encoder);
  input.class_token = options.pool == Pool::cls;
  return input;
}

bool sees_only_the_past(const EncoderModelOptions& options) {
  return options.encoder.attention.causal && !options.adjacency && options.pool == Pool::none &&
         options.input.vocabulary > 0 && options.encoder.normalization != Normalization::batch &&
         options.input.positions != PositionKind::relative_index;
}

InputOptions output_options(const EncoderDecoderOptions& options) {
  InputOptions output;
  output.vocabulary = options.classes + 1;
  output.max_length = options.max_outputs;
  output.norm = options.input.norm;
  // Outputs have no rows and columns, and their length is not known in advance.
  const PositionKind kind = options.input.positions;
  output.positions = kind == PositionKind::learned_2d ? PositionKind::learned : kind;
  check_shape(kind != PositionKind::relative_index,
              "encoder_decoder: relative_index needs to know the length of the output in advance");
  return of_width(output, options.encoder);
}

EncoderOptions decoder_options(EncoderOptions options) {
  options.decoder = true;
  return options;
}

// Decoding with the keys and values of the tokens so far and of the decoder's memory.
template <class T>
class CachedDecoding final : public Decoding<T> {
 public:
  CachedDecoding(const InputEmbedding<T>& embedding, const Encoder<T>& encoder,
                 const OutputHead<T>& head, const Memory<T>& memory, const Ids& ids)
      : embedding_(embedding), encoder_(encoder), head_(head), cache_(encoder.start(memory)) {
    feed(ids);
  }

  void append(const std::vector<std::int32_t>& classes) override {
    Ids ids = empty<std::int32_t>({classes.size(), 1});
    std::copy(classes.begin(), classes.end(), ids.data());
    const NoGrad no_grad;
    feed(ids);
  }

  void select(const std::vector<std::size_t>& rows) override {
    const NoGrad no_grad;
    Ids ids = empty<std::int32_t>({rows.size()});
    std::copy(rows.begin(), rows.end(), ids.data());
    for (KVCache<T>& cache : cache_.tokens) cache.select(ids);
    for (KVCache<T>& cache : cache_.memory) cache.select(ids);
    cache_.masks.key_mask = selected(cache_.masks.key_mask, rows);
    this->select_logits(rows);
  }

 private:
  void feed(const Ids& ids) {
    ModelInput<T> input;
    input.ids = &ids;
    const Variable<T> x = embedding_(input, length_);
    length_ += ids.shape()[1];
    this->set_last(head_(encoder_.decode_step(x, cache_)).value());
  }

  const InputEmbedding<T>& embedding_;
  const Encoder<T>& encoder_;
  const OutputHead<T>& head_;
  EncoderCache<T> cache_;
  std::size_t length_ = 0;  // tokens read
};

// (B, N, D) -> (B, N, window D): the vectors of each token's window, concatenated.
template <class T>
Variable<T> windows(Variable<T> x, std::size_t window, const SharedMask& mask) {
  if (window == 1) return x;
  const std::size_t batch = x.shape()[0], tokens = x.shape()[1], width = x.shape()[2];
  if (mask) {
    Tensor<T> factors = xt::cast<T>(*mask);
    factors.reshape({batch, tokens, 1});
    x = mul(x, Variable<T>(std::move(factors)));
  }
  const Variable<T> outside(zeros<T>({batch, window / 2, width}));
  const Variable<T> longer = concat<T>({outside, x, outside}, 1);
  std::vector<Variable<T>> shifted;
  for (std::size_t i = 0; i < window; ++i) shifted.push_back(slice(longer, 1, i, i + tokens));
  return concat(shifted, 2);
}

std::size_t last_width(const WindowMlpOptions& options) {
  return options.layers > 0 ? options.hidden : options.window * options.input.features;
}

}  // namespace

template <class T>
EncoderModel<T>::EncoderModel(const Scope<T>& root, const EncoderModelOptions& options)
    : adjacency_(options.adjacency),
      is_causal_(sees_only_the_past(options)),
      embedding_(root / "embedding", input_options(options)),
      encoder_(root / "encoder", options.encoder),
      pool_(root / "pool", options.pool, options.encoder.attention.width),
      head_(root / "head", options.encoder.attention.width, options.classes, options.stablemax) {}

template <class T>
Variable<T> EncoderModel<T>::operator()(const ModelInput<T>& input, const Context& context) const {
  const SharedMask mask = embedding_.mask(input.mask);
  AttentionMasks masks{.key_mask = mask};
  if (adjacency_) masks.mask = embedding_.adjacency(input.adjacency);
  return head_(pool_(encoder_(embedding_(input), masks, context), mask));
}

template <class T>
std::unique_ptr<Decoding<T>> EncoderModel<T>::decode(const ModelInput<T>& input) const {
  check_shape(
      is_causal_ && input.ids != nullptr && !input.mask,
      "model: to continue its input, each token must depend only on itself and the tokens before "
      "it, and the input must be token ids without padding");
  const NoGrad no_grad;
  return std::make_unique<CachedDecoding<T>>(embedding_, encoder_, head_, Memory<T>{}, *input.ids);
}

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
      embedding_(root / "embedding", of_width(options.input, options.encoder)),
      encoder_(root / "encoder", options.encoder),
      output_embedding_(root / "output_embedding", output_options(options)),
      decoder_(root / "decoder", decoder_options(options.encoder)),
      head_(root / "head", options.encoder.attention.width, options.classes, options.stablemax) {}

template <class T>
Variable<T> EncoderDecoderModel<T>::operator()(const ModelInput<T>& input,
                                               const Context& context) const {
  check_shape(
      input.outputs != nullptr && input.outputs->dimension() == 2 && input.outputs->shape()[1] > 0,
      "model: expected outputs (B, M) beside the input, M at least 1");
  const auto mask = std::make_shared<const Mask>(xt::greater_equal(*input.outputs, 0));
  const Memory<T> memory{encoder_(embedding_(input), {input.mask}, context), {input.mask}, mask};
  const Ids before = shift_right(*input.outputs, std::int32_t(classes_));
  ModelInput<T> output;
  output.ids = &before;
  return head_(decoder_(output_embedding_(output), {}, context, {}, memory));
}

template <class T>
std::unique_ptr<Decoding<T>> EncoderDecoderModel<T>::decode(const ModelInput<T>& input) const {
  const NoGrad no_grad;
  const Memory<T> memory{encoder_(embedding_(input), {input.mask}, {}), {input.mask}};
  const Ids begin = full<std::int32_t>({memory.tokens.shape()[0], 1}, std::int32_t(classes_));
  return std::make_unique<CachedDecoding<T>>(output_embedding_, decoder_, head_, memory, begin);
}

template <class T>
WindowMlp<T>::WindowMlp(const Scope<T>& root, const WindowMlpOptions& options)
    : options_(options),
      embedding_(root / "embedding", options.input),
      pool_(root / "pool", options.pool, last_width(options)),
      head_(root / "head", last_width(options), options.classes, options.stablemax) {
  check_shape(options.window % 2 == 1, "window_mlp: expected an odd window, got ", options.window);
  check_shape(options.pool != Pool::cls,
              "window_mlp: a class token needs attention; choose another pool");
  std::size_t in = options.window * options.input.features;
  for (std::size_t i = 0; i < options.layers; ++i) {
    const Scope<T> at = root / "layers" / i;
    layers_.emplace_back(at, in, options.hidden);
    ids_.push_back(at.id());
    in = options.hidden;
  }
}

template <class T>
Variable<T> WindowMlp<T>::operator()(const ModelInput<T>& input, const Context& context) const {
  Variable<T> x = windows(embedding_(input), options_.window, input.mask);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DropoutOptions dropout = context.dropout(options_.dropout, ids_[i]);
    x = activated(x, layers_[i], options_.activation, dropout);
    x = observe_activation(context, {ids_[i], "mlp_hidden"}, x);
  }
  return head_(pool_(x, input.mask));
}

#define XGRAD_INSTANTIATE(T)             \
  template class EncoderModel<T>;        \
  template class EncoderDecoderModel<T>; \
  template class WindowMlp<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
