// Adagrad optimizer.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// The Adagrad optimizer, as torch.optim.Adagrad, with weight decay w. Duchi, Hazan & Singer 2011.
///
///     g <- g + w x;  s <- s + g^2;  x <- x - lr g / (sqrt(s) + eps)
///
/// The state is "sum", s.
template <class T>
class Adagrad final : public Optimizer<T> {
 public:
  /// Throws ConfigError as the constructor of Optimizer does.
  Adagrad(const Parameters<T>& parameters, const OptimizerOptions& options);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Learning rate of the current step.
  T lr_;
};

}  // namespace xgrad
