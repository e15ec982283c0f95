// AveragedWeights: an average of the weights over steps, which often generalises better than the
// last weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizers.hpp>

namespace xgrad {

/// An average e of the weights x: e <- e + s (x - e), starting from the weights at construction.
///
/// The share s of each update chooses the kind of average. A constant s = 1 - d is an exponential
/// moving average with decay d (Polyak & Juditsky 1992). s = 1/n for the n-th update is the equal
/// average of the weights at all updates, stochastic weight averaging (Izmailov et al. 2018). Both
/// are the same as in torch.optim.swa_utils.AveragedModel.
template <class T>
class AveragedWeights {
 public:
  /// `kind` is the prefix of the names of the averages. Shares the variables of `parameters`, so
  /// update() sees their new values. Parameters that require no gradient have no average. `part`:
  /// the scalars that this process averages, if several processes share the work.
  AveragedWeights(const Parameters<T>& parameters, const std::string& kind,
                  const ModelPart& part = {});

  /// Updates the averages with the current weights. `share` is s, from 0 to 1; 1 copies the weights
  /// exactly. The bits do not depend on the number of threads.
  void update(double share);

  /// Swaps the averages and the averaged weights: the model has the averages until the next swap().
  void swap();

  /// The averages, named like "ema.encoder.layers.0.norm1.weight" for the kind "ema", in the order
  /// of the parameters.
  const std::vector<OptimizerState<T>>& state() const { return means_; }
  /// Replaces an average by `tensor`, or by the part of `tensor` that this process averages. Throws
  /// Error when the name is unknown, ShapeError when the shape differs from the parameter's shape.
  void set_state(std::string_view name, const Tensor<T>& tensor) {
    detail::set_state(means_, "average", name, tensor);
  }

 private:
  std::vector<Parameter<T>> parameters_;  // one per average
  std::vector<OptimizerState<T>> means_;
  ModelPart part_;
};

}  // namespace xgrad
