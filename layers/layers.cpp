#include <xgrad/layers/layers.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Linear<T>::Linear(const Scope<T>& scope, std::size_t in, std::size_t out, bool bias)
    : weight_(scope.parameter("weight", {out, in}, init::uniform(1 / std::sqrt(double(in))))) {
  if (bias)
    bias_ =
        scope.parameter("bias", {out}, init::uniform(1 / std::sqrt(double(in))), WeightDecay::off);
}

template <class T>
Variable<T> activated(const Variable<T>& x, const Linear<T>& linear, Activation activation,
                      const DropoutOptions& options) {
  if (activation == Activation::gelu || activation == Activation::gelu_tanh) {
    const Gelu kind = activation == Activation::gelu ? Gelu::exact : Gelu::tanh;
    return linear_gelu(x, linear.weight(), linear.bias(), kind, options);
  }
  const Variable<T> y = linear(x);
  return dropout(activation == Activation::relu ? relu(y) : silu(y), options);
}

template <class T>
Mlp<T>::Mlp(const Scope<T>& scope, std::size_t width, std::size_t hidden, Activation activation,
            double dropout)
    : id_(scope.id()),
      dropout_id_((scope / "linear1").id()),
      linear1_(scope / "linear1", width, hidden),
      linear2_(scope / "linear2", hidden, width),
      activation_(activation),
      dropout_(dropout) {}

template <class T>
Variable<T> Mlp<T>::operator()(const Variable<T>& x, const Context& context) const {
  const DropoutOptions dropout = context.dropout(dropout_, dropout_id_);
  const Variable<T> hidden = activated(x, linear1_, activation_, dropout);
  return linear2_(observe_activation(context, {id_, "mlp_hidden"}, hidden));
}

template <class T>
Norm<T>::Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options)
    : options_(options),
      weight_(scope.parameter("weight", {width}, init::ones(), WeightDecay::off)) {
  if (options.kind == Normalization::rms) return;
  bias_ = scope.parameter("bias", {width}, init::zeros(), WeightDecay::off);
}

template <class T>
Variable<T> Norm<T>::operator()(const Variable<T>& x, const SharedMask& mask) const {
  const auto& [kind, eps] = options_;
  if (kind == Normalization::rms) return rms_norm(x, weight_, eps);
  return kind == Normalization::batch ? batch_norm(x, weight_, bias_, mask, eps)
                                      : layer_norm(x, weight_, bias_, eps);
}

template <class T>
Embedding<T>::Embedding(const Scope<T>& scope, std::size_t vocabulary, std::size_t width)
    : weight_(
          scope.parameter("weight", {vocabulary, width}, init::normal(0.02), WeightDecay::off)) {
  check<ConfigError>(vocabulary > 0, scope.path(),
                     ": an embedding needs token ids, but the task has other inputs");
}

template <class T>
Pooling<T>::Pooling(const Scope<T>& scope, Pool kind, std::size_t width) : kind_(kind) {
  if (kind == Pool::attention)
    query_ = scope.parameter("query", {width}, init::normal(0.02), WeightDecay::off);
}

template <class T>
Variable<T> Pooling<T>::operator()(const Variable<T>& x, const SharedMask& mask) const {
  if (kind_ == Pool::none) return x;
  if (kind_ == Pool::cls) return select(x, 1, 0);
  if (kind_ == Pool::mean) return masked_mean(x, mask);
  if (kind_ == Pool::max) return masked_max(x, mask);
  const Variable<T> queries(zeros<T>({x.shape()[0], 1, x.shape()[2]}));
  return select(attention(add(queries, query_), x, x, {.masks = {mask}}), 1, 0);
}

#define XGRAD_INSTANTIATE(T)                    \
  template decltype(activated<T>) activated<T>; \
  template class Linear<T>;                     \
  template class Mlp<T>;                        \
  template class Norm<T>;                       \
  template class Embedding<T>;                  \
  template class Pooling<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
