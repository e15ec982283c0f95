// Ema: an exponential mean of the weights, which often generalises better than the last ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// e <- d e + (1 - d) x after every step, from the weights that training begins with. Polyak &
/// Juditsky 1992; torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(d).
template <class T>
class Ema {
 public:
  /// Keeps a pointer to `parameters`; those that require no gradient have no mean.
  Ema(const Parameters<T>& parameters, double decay);

  /// Takes the parameters' values into the means. The bits do not depend on the number of threads.
  void update();

  /// Exchanges the means and the parameters' values: between two calls the model is the mean.
  void swap();

  /// "ema.encoder.layers.0.norm1.weight", in the order of the parameters.
  const std::vector<OptimizerState<T>>& state() const { return means_; }
  /// Replaces a mean. Throws Error when there is none of that name, ShapeError when the shape
  /// differs.
  void set_state(std::string_view name, const Tensor<T>& tensor);

 private:
  std::vector<Variable<T>> variables_;  // one a mean
  std::vector<OptimizerState<T>> means_;
  double decay_;
};

}  // namespace xgrad
