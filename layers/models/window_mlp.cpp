#include <xgrad/layers/models/window_mlp.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>

namespace xgrad {

namespace {

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
WindowMlp<T>::WindowMlp(const Scope<T>& root, const WindowMlpOptions& options)
    : options_(options),
      embedding_(root / "embedding", options.input),
      pool_(root / "pool", options.pool, last_width(options)),
      head_(root / "head", last_width(options), options.classes) {
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

#define XGRAD_INSTANTIATE(T) template class WindowMlp<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
