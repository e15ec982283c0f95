// Ema: an exponential moving average of the weights, which often generalises better than the last
// weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// An exponential moving average e of the weights x: e <- d e + (1 - d) x after every step,
/// starting from the weights at construction. Polyak & Juditsky 1992;
/// torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(d).
template <class T>
class Ema {
 public:
  /// `decay` is d. Shares the variables of `parameters`; those that require no gradient have no
  /// average.
  Ema(const Parameters<T>& parameters, double decay);

  /// Updates the averages of a part of the scalars with the current values. The bits do not depend
  /// on the number of threads.
  void update(const ModelPart& part = {});

  /// Swaps the averages and the parameters' values: the model uses the averages until the next
  /// call.
  void swap();

  /// The averages, named like "ema.encoder.layers.0.norm1.weight", in the order of the parameters.
  const std::vector<OptimizerState<T>>& state() const { return means_; }
  /// The same for writing, to receive what other processes updated; names and shapes must stay.
  std::vector<OptimizerState<T>>& mutable_state() { return means_; }
  /// Replaces an average. Throws Error when the name is unknown, ShapeError when the shape differs.
  void set_state(std::string_view name, const Tensor<T>& tensor);

 private:
  std::vector<Variable<T>> variables_;  // one per average
  std::vector<OptimizerState<T>> means_;
  double decay_;
};

}  // namespace xgrad
