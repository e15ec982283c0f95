#include <xgrad/optim/lion.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/subnormal.hpp>

namespace xgrad {

template <class T>
Lion<T>::Lion(const Parameters<T>& parameters, const OptimizerOptions& options)
    : Optimizer<T>(parameters, options, {"exp_avg"}) {}

template <class T>
void Lion<T>::prepare(double lr, std::uint64_t) {
  lr_ = lr;
}

template <class T>
void Lion<T>::update(const ParameterRun<T>& run) const {
  const OptimizerOptions& s = this->options();
  const T beta1 = T(s.beta1), rest1 = T(1 - s.beta1), beta2 = T(s.beta2), rest2 = T(1 - s.beta2);
  const T keep = T(1 - lr_ * run.lr_scale * run.weight_decay), lr = T(lr_ * run.lr_scale);
  T* x = run.value;
  const ScaledGradient<T> g = run.grad;
  T* m = run.slots[0];
#pragma omp simd
  for (std::size_t i = 0; i < run.size; ++i) {
    const T gi = g[i];
    const T mean = beta1 * m[i] + rest1 * gi;
    const T sign = T(mean > 0) - T(mean < 0);
    x[i] = keep * x[i] - lr * sign;
    m[i] = detail::without_subnormals(beta2 * m[i] + rest2 * gi);
  }
}

#define XGRAD_INSTANTIATE(T) template class Lion<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
