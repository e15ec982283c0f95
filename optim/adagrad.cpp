#include <xgrad/optim/adagrad.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Adagrad<T>::Adagrad(const Parameters<T>& parameters, const OptimizerOptions& options)
    : Optimizer<T>(parameters, options, {"sum"}) {}

template <class T>
void Adagrad<T>::prepare(double lr, std::uint64_t) {
  lr_ = T(lr);
}

template <class T>
void Adagrad<T>::update(const ParameterRun<T>& run) const {
  const T eps = T(this->options().eps), decay = T(run.weight_decay);
  const T lr = lr_ * T(run.lr_scale);
  T* x = run.value;
  const ScaledGradient<T> g = run.grad;
  T* sum = run.slots[0];
#pragma omp simd
  for (std::size_t i = 0; i < run.size; ++i) {
    const T gi = g[i] + decay * x[i];
    sum[i] += gi * gi;
    x[i] -= lr * gi / (std::sqrt(sum[i]) + eps);
  }
}

#define XGRAD_INSTANTIATE(T) template class Adagrad<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
