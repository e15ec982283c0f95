// Stochastic gradient descent with momentum.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// Stochastic gradient descent with momentum and weight decay w, as torch.optim.SGD without
/// dampening.
///
///     g <- g + w x;  b <- momentum b + g;  x <- x - lr b
///
/// Nesterov's momentum replaces the last step by x <- x - lr (g + momentum b) (Sutskever et al.
/// 2013).
///
/// The state is "momentum_buffer", b.
template <class T>
class Sgd final : public Optimizer<T> {
 public:
  /// Throws ConfigError as the constructor of Optimizer does.
  Sgd(const Parameters<T>& parameters, const OptimizerOptions& options);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Learning rate of the current step.
  T lr_;
};

}  // namespace xgrad
