#include <xgrad/layers/models/residual.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

// Multiplies the rows of examples by dropout factors, one for each example.
template <class T>
static Variable<T> some_examples(const Variable<T>& y, const DropoutOptions& options) {
  if (options.p == 0) return y;
  Tensor<T> factors = empty<T>({y.shape()[0], 1, 1});
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::uint32_t sample = options.first_sample + std::uint32_t(i);
    dropout_factors(*options.rng, options.p, sample, 0, 0, 1, factors.data() + i);
  }
  return mul(y, Variable<T>(std::move(factors)));
}

template <class T>
Residual<T>::Residual(const Scope<T>& scope, int number, const ResidualOptions& options)
    : dropout_(options.dropout),
      stochastic_depth_(options.stochastic_depth),
      id_((scope / ("dropout" + std::to_string(number))).id()),
      depth_id_((scope / ("stochastic_depth" + std::to_string(number))).id()) {
  const std::string name = "norm" + std::to_string(number);
  const auto norm = [&](const std::string& at) {
    return Norm<T>(scope / at, options.width, options.norm);
  };
  const NormOrder order = options.order;
  if (order == NormOrder::pre || order == NormOrder::sandwich) before_ = norm(name);
  if (order == NormOrder::sandwich) inside_ = norm(name + "_post");
  if (order == NormOrder::post) after_ = norm(name);
}

template <class T>
Variable<T> Residual<T>::finish(Variable<T> y, const Variable<T>& x, const SharedMask& mask,
                                const Context& context) const {
  if (inside_) y = (*inside_)(y, mask);
  y = some_examples(y, context.dropout(stochastic_depth_, depth_id_));
  y = dropout_add(y, x, context.dropout(dropout_, id_));
  return after_ ? (*after_)(y, mask) : y;
}

#define XGRAD_INSTANTIATE(T) template class Residual<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
