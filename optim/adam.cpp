#include <xgrad/optim/adam.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/subnormal.hpp>

namespace xgrad {

template <class T>
Adam<T>::Adam(const Parameters<T>& parameters, const OptimizerOptions& options, Decay decay)
    : Optimizer<T>(parameters, options, {"exp_avg", "exp_avg_sq"}), decay_(decay) {}

template <class T>
void Adam<T>::prepare(double lr, std::uint64_t step) {
  const OptimizerOptions& s = this->options();
  const double t = double(step);
  lr_ = lr;
  step_size_ = T(lr / (1 - std::pow(s.beta1, t)));
  root_scale_ = T(1 / std::sqrt(1 - std::pow(s.beta2, t)));
}

template <class T>
void Adam<T>::update(const ParameterRun<T>& run) const {
  const OptimizerOptions& s = this->options();
  const T decay1 = T(1 - s.beta1), beta2 = T(s.beta2), decay2 = T(1 - s.beta2), eps = T(s.eps);
  const T step_size = step_size_ * T(run.lr_scale), root_scale = root_scale_;
  const T l2 = decay_ == Decay::l2 ? T(run.weight_decay) : T(0);
  const T keep = decay_ == Decay::decoupled ? T(1 - lr_ * run.lr_scale * run.weight_decay) : T(1);
  T* x = run.value;
  const ScaledGradient<T> g = run.grad;
  T* m = run.slots[0];
  T* v = run.slots[1];
#pragma omp simd
  for (std::size_t i = 0; i < run.size; ++i) {
    const T gi = g[i] + l2 * x[i];
    const T mi = detail::without_subnormals(m[i] + decay1 * (gi - m[i]));
    const T vi = detail::without_subnormals(beta2 * v[i] + decay2 * gi * gi);
    m[i] = mi;
    v[i] = vi;
    x[i] = keep * x[i] - step_size * mi / (std::sqrt(vi) * root_scale + eps);
  }
}

#define XGRAD_INSTANTIATE(T) template class Adam<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
