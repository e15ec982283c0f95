// RMSprop optimizer.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// The RMSprop optimizer with weight decay w, as torch.optim.RMSprop without momentum. Tieleman &
/// Hinton 2012, lecture 6.5.
///
///     g <- g + w x;  v <- alpha v + (1 - alpha) g^2;  x <- x - lr g / (sqrt(v) + eps)
///
/// The state is "square_avg", v.
template <class T>
class RmsProp final : public Optimizer<T> {
 public:
  /// Throws ConfigError as the constructor of Optimizer does.
  RmsProp(const Parameters<T>& parameters, const OptimizerOptions& options);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Learning rate of the current step.
  T lr_;
};

}  // namespace xgrad
