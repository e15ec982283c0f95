#include <xgrad/layers/norm.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
std::variant<LayerNorm<T>, RmsNorm<T>, BatchNorm<T>> make_norm(const Scope<T>& scope,
                                                               std::size_t width,
                                                               const NormOptions& options) {
  switch (options.kind) {
    case Normalization::rms:
      return RmsNorm<T>(scope, width, options.eps);
    case Normalization::batch:
      return BatchNorm<T>(scope, width, options.eps);
    case Normalization::layer:
      break;
  }
  return LayerNorm<T>(scope, width, options.eps);
}

}  // namespace

template <class T>
Norm<T>::Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options)
    : norm_(make_norm(scope, width, options)) {}

template <class T>
Variable<T> Norm<T>::operator()(const Variable<T>& x,
                                const std::shared_ptr<const Mask>& mask) const {
  if (const auto* norm = std::get_if<BatchNorm<T>>(&norm_)) return (*norm)(x, mask);
  if (const auto* norm = std::get_if<RmsNorm<T>>(&norm_)) return (*norm)(x);
  return std::get<LayerNorm<T>>(norm_)(x);
}

#define XGRAD_INSTANTIATE(T) template class Norm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
