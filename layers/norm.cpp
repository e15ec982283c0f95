#include <xgrad/layers/norm.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
std::variant<LayerNorm<T>, RmsNorm<T>> make_norm(const Scope<T>& scope, std::size_t width,
                                                 const NormOptions& options) {
  if (options.kind == Normalization::rms) return RmsNorm<T>(scope, width, options.eps);
  return LayerNorm<T>(scope, width, options.eps);
}

}  // namespace

template <class T>
Norm<T>::Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options)
    : norm_(make_norm(scope, width, options)) {}

template <class T>
Variable<T> Norm<T>::operator()(const Variable<T>& x) const {
  return std::visit([&x](const auto& norm) { return norm(x); }, norm_);
}

#define XGRAD_INSTANTIATE(T) template class Norm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
