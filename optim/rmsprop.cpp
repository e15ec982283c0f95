#include <xgrad/optim/rmsprop.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/subnormal.hpp>

namespace xgrad {

template <class T>
RmsProp<T>::RmsProp(const Parameters<T>& parameters, const OptimizerOptions& options)
    : Optimizer<T>(parameters, options, {"square_avg"}) {}

template <class T>
void RmsProp<T>::prepare(double lr, std::uint64_t) {
  lr_ = T(lr);
}

template <class T>
void RmsProp<T>::update(const ParameterRun<T>& run) const {
  const OptimizerOptions& s = this->options();
  const T alpha = T(s.alpha), rest = T(1 - s.alpha), eps = T(s.eps), decay = T(run.weight_decay);
  const T lr = lr_ * T(run.lr_scale);
  T* x = run.value;
  const ScaledGradient<T> g = run.grad;
  T* v = run.slots[0];
#pragma omp simd
  for (std::size_t i = 0; i < run.size; ++i) {
    const T gi = g[i] + decay * x[i];
    v[i] = detail::without_subnormals(alpha * v[i] + rest * gi * gi);
    x[i] -= lr * gi / (std::sqrt(v[i]) + eps);
  }
}

#define XGRAD_INSTANTIATE(T) template class RmsProp<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
