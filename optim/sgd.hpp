// Stochastic gradient descent.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// b <- momentum b + g + w x;  x <- x - lr b, with weight decay w. torch.optim.SGD without
/// dampening.
///
/// State: "momentum_buffer" b.
template <class T>
class Sgd final : public Optimizer<T> {
 public:
  Sgd(const Parameters<T>& parameters, const OptimizerSettings& settings);

 private:
  void prepare(double lr, double grad_scale, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Of the current step.
  T lr_, grad_scale_;
};

}  // namespace xgrad
