// Stochastic gradient descent.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// g <- g + w x;  b <- momentum b + g;  x <- x - lr b, with weight decay w; with Nesterov's
/// momentum x <- x - lr (g + momentum b) instead (Sutskever et al. 2013). torch.optim.SGD without
/// dampening.
///
/// State: "momentum_buffer" b.
template <class T>
class Sgd final : public Optimizer<T> {
 public:
  /// Throws ConfigError as Optimizer does.
  Sgd(const Parameters<T>& parameters, const OptimizerSettings& settings);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Of the current step.
  T lr_;
};

}  // namespace xgrad
