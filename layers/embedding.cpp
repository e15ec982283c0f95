#include <xgrad/layers/embedding.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>
#include <xgrad/layers/patches.hpp>

namespace xgrad {

namespace {

std::size_t longest(const InputOptions& options) {
  const std::size_t tokens =
      options.vocabulary > 0 ? options.max_length
                             : (options.height / options.patch) * (options.width / options.patch);
  return tokens + (options.class_token ? 1 : 0);
}

PositionOptions position_options(const InputOptions& options) {
  PositionOptions positions{options.positions, longest(options), options.features};
  if (options.vocabulary == 0) {
    positions.rows = options.height / options.patch;
    positions.columns = options.width / options.patch;
  }
  positions.class_token = options.class_token;
  return positions;
}

}  // namespace

template <class T>
Embedding<T>::Embedding(const Scope<T>& scope, std::size_t vocabulary, std::size_t width)
    : weight_(scope.parameter("weight", {vocabulary, width}, init::normal(0.02))) {}

template <class T>
InputEmbedding<T>::InputEmbedding(const Scope<T>& scope, const InputOptions& options)
    : options_(options), positions_(scope / "position", position_options(options)) {
  if (options.vocabulary > 0) {
    token_.emplace(scope / "token", options.vocabulary, options.features);
  } else {
    patch_.emplace(scope / "patch", options.patch * options.patch * options.channels,
                   options.features);
  }
  if (options.class_token) {
    class_token_ = scope.parameter("class_token", {options.features}, init::normal(0.02));
  }
}

template <class T>
Variable<T> InputEmbedding<T>::operator()(const ModelInput<T>& input) const {
  check_shape(token_ ? input.ids != nullptr : input.features != nullptr, "model: expected ",
              token_ ? "token ids" : "an image", " as input");
  Variable<T> x = token_ ? (*token_)(*input.ids)
                         : (*patch_)(Variable<T>(patchify(*input.features, options_.patch)));
  if (class_token_.defined()) {
    const Variable<T> row(zeros<T>({x.shape()[0], 1, options_.features}));
    x = concat<T>({add(row, class_token_), x}, 1);
  }
  return positions_(x, mask(input.mask).get());
}

template <class T>
std::shared_ptr<const Mask> InputEmbedding<T>::mask(const std::shared_ptr<const Mask>& mask) const {
  if (!mask || !class_token_.defined()) return mask;
  const std::size_t batch = mask->shape()[0], tokens = mask->shape()[1];
  auto longer = std::make_shared<Mask>(empty<std::uint8_t>({batch, tokens + 1}));
  for (std::size_t b = 0; b < batch; ++b) {
    std::uint8_t* row = longer->data() + b * (tokens + 1);
    row[0] = 1;
    std::copy_n(mask->data() + b * tokens, tokens, row + 1);
  }
  return longer;
}

#define XGRAD_INSTANTIATE(T)   \
  template class Embedding<T>; \
  template class InputEmbedding<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
