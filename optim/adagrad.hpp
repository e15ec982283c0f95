// Adagrad.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// g <- g + w x;  s <- s + g^2;  x <- x - lr g / (sqrt(s) + eps), with weight decay w.
/// torch.optim.Adagrad. Duchi, Hazan & Singer 2011.
///
/// State: "sum" s.
template <class T>
class Adagrad final : public Optimizer<T> {
 public:
  /// Throws ConfigError as Optimizer does.
  Adagrad(const Parameters<T>& parameters, const OptimizerSettings& settings);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Of the current step.
  T lr_;
};

}  // namespace xgrad
