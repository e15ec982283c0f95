#include <xgrad/layers/models/encoder_model.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

InputOptions completed(const EncoderModelOptions& options) {
  InputOptions input = options.input;
  input.features = options.encoder.attention.width;
  input.class_token = options.pool == Pool::cls;
  return input;
}

bool sees_only_the_past(const EncoderModelOptions& options) {
  return options.encoder.attention.causal && !options.adjacency && options.pool == Pool::none &&
         options.input.vocabulary > 0 && options.encoder.normalization != Normalization::batch &&
         options.input.positions != PositionKind::relative_index;
}

}  // namespace

template <class T>
EncoderModel<T>::EncoderModel(const Scope<T>& root, const EncoderModelOptions& options)
    : adjacency_(options.adjacency),
      is_causal_(sees_only_the_past(options)),
      embedding_(root / "embedding", completed(options)),
      encoder_(root / "encoder", options.encoder),
      pool_(root / "pool", options.pool, options.encoder.attention.width),
      head_(root / "head", options.encoder.attention.width, options.classes) {}

template <class T>
Variable<T> EncoderModel<T>::operator()(const ModelInput<T>& input, const Context& context) const {
  const SharedMask mask = embedding_.mask(input.mask);
  AttentionMasks masks{.key_mask = mask};
  if (adjacency_) masks.mask = embedding_.adjacency(input.adjacency);
  return head_(pool_(encoder_(embedding_(input), masks, context), mask));
}

// The sequences of a batch, with the keys and values of their tokens.
template <class T>
class EncoderModel<T>::Continuation final : public Decoding<T> {
 public:
  Continuation(const EncoderModel& model, const Ids& ids) : model_(model) { feed(ids); }

  void append(const std::vector<std::int32_t>& classes) override {
    Ids ids = empty<std::int32_t>({classes.size(), 1});
    std::copy(classes.begin(), classes.end(), ids.data());
    feed(ids);
  }

  void select(const std::vector<std::size_t>& rows) override {
    const NoGrad no_grad;
    for (KVCache<T>& cache : caches_) cache.select(row_ids(rows));
    this->select_logits(rows);
  }

 private:
  void feed(const Ids& ids) {
    const NoGrad no_grad;
    ModelInput<T> input;
    input.ids = &ids;
    const Variable<T> x = model_.embedding_(input, length_);
    length_ += ids.shape()[1];
    this->set_last(model_.head_(model_.encoder_.decode_step(x, caches_)).value());
  }

  const EncoderModel& model_;
  std::vector<KVCache<T>> caches_;
  std::size_t length_ = 0;
};

template <class T>
std::unique_ptr<Decoding<T>> EncoderModel<T>::decode(const ModelInput<T>& input) const {
  check_shape(
      is_causal_ && input.ids != nullptr && !input.mask,
      "model: only a causal model of tokens without padding, whose tokens see nothing after "
      "them, can continue its input");
  return std::make_unique<Continuation>(*this, *input.ids);
}

#define XGRAD_INSTANTIATE(T) template class EncoderModel<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
