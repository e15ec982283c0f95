#include <xgrad/layers/models/encoder_model.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

InputOptions completed(const EncoderModelOptions& options) {
  InputOptions input = options.input;
  input.features = options.encoder.attention.width;
  input.class_token = options.pool == Pool::cls;
  return input;
}

}  // namespace

template <class T>
EncoderModel<T>::EncoderModel(const Scope<T>& root, const EncoderModelOptions& options)
    : adjacency_(options.adjacency),
      embedding_(root / "embedding", completed(options)),
      encoder_(root / "encoder", options.encoder),
      pool_(root / "pool", options.pool, options.encoder.attention.width),
      head_(root / "head", options.encoder.attention.width, options.classes) {}

template <class T>
Variable<T> EncoderModel<T>::operator()(const ModelInput<T>& input, const Context& context) const {
  const std::shared_ptr<const Mask> mask = embedding_.mask(input.mask);
  AttentionMasks masks{.key_mask = mask};
  if (adjacency_) masks.mask = embedding_.adjacency(input.adjacency);
  return head_(pool_(encoder_(embedding_(input), masks, context), mask));
}

#define XGRAD_INSTANTIATE(T) template class EncoderModel<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
