// Adam and AdamW optimizers.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// How weight decay w enters Adam.
enum class Decay {
  l2,         ///< uses g + w x in place of the gradient g: torch.optim.Adam
  decoupled,  ///< first multiplies x by 1 - lr w: torch.optim.AdamW (Loshchilov & Hutter 2019)
};

/// The Adam and AdamW optimizers. Kingma & Ba 2015.
///
///     m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
///     x <- x - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
///
/// The state is "exp_avg", m, and "exp_avg_sq", v.
template <class T>
class Adam final : public Optimizer<T> {
 public:
  /// Throws ConfigError as the constructor of Optimizer does.
  Adam(const Parameters<T>& parameters, const OptimizerOptions& options, Decay decay);

 private:
  void prepare(double lr, std::uint64_t step) override;
  void update(const ParameterRun<T>& run) const override;

  Decay decay_;
  // Values of the current step.
  double lr_;
  T step_size_, root_scale_;
};

}  // namespace xgrad
