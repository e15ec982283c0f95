#include <xgrad/optim/sgd.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Sgd<T>::Sgd(const Parameters<T>& parameters, const OptimizerOptions& options)
    : Optimizer<T>(parameters, options, {"momentum_buffer"}) {}

template <class T>
void Sgd<T>::prepare(double lr, std::uint64_t) {
  lr_ = T(lr);
}

template <class T>
void Sgd<T>::update(const ParameterRun<T>& run) const {
  const T momentum = T(this->options().momentum), decay = T(run.weight_decay);
  const T lr = lr_ * T(run.lr_scale);
  T* x = run.value;
  const ScaledGradient<T> g = run.grad;
  T* b = run.slots[0];
  if (this->options().nesterov) {
#pragma omp simd
    for (std::size_t i = 0; i < run.size; ++i) {
      const T gi = g[i] + decay * x[i];
      b[i] = momentum * b[i] + gi;
      x[i] -= lr * (gi + momentum * b[i]);
    }
    return;
  }
#pragma omp simd
  for (std::size_t i = 0; i < run.size; ++i) {
    b[i] = momentum * b[i] + g[i] + decay * x[i];
    x[i] -= lr * b[i];
  }
}

#define XGRAD_INSTANTIATE(T) template class Sgd<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
