// Lion optimizer: updates by the sign of a mean of gradients.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// The Lion optimizer, with decoupled weight decay w and sign(0) = 0. Chen et al. 2023, algorithm
/// 2; published with b1 = 0.9, b2 = 0.99 and a learning rate a third to a tenth of AdamW's.
///
///     x <- (1 - lr w) x - lr sign(b1 m + (1 - b1) g);  m <- b2 m + (1 - b2) g
///
/// The state is "exp_avg", m.
template <class T>
class Lion final : public Optimizer<T> {
 public:
  /// Throws ConfigError as the constructor of Optimizer does.
  Lion(const Parameters<T>& parameters, const OptimizerOptions& options);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  // Learning rate of the current step.
  double lr_;
};

}  // namespace xgrad
