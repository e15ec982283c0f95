// Context: the arguments that every layer's forward pass takes.
//
// A layer is a class that holds its parameters and has a call operator. Layers have no virtual
// forward, since their signatures differ; only whole models share a base class, SequenceModel
// (model.hpp). The training mode and the random numbers are arguments, never hidden state.
#pragma once

#include <cstdint>
#include <optional>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

class ActivationObserver;  // layers/activations.hpp

/// How a forward pass runs. The default is evaluation, without dropout.
struct Context {
  bool training = false;                  ///< turns dropout on
  std::optional<Rng> rng = std::nullopt;  ///< the step's stream; each layer derives its own
  std::uint32_t first_sample = 0;  ///< index of the batch's first sample in the logical batch
  ActivationObserver* activations = nullptr;  ///< observes intermediate values; null: none
  bool recompute =
      false;  ///< an Encoder stores only each block's input and reruns the block in backward
  double dropout_scale = 1;  ///< factor of all dropout rates, from 0 to 1

  /// The context of a training step, with the same dropout masks as the trainer. `seed` is
  /// train.seed; `step` is the number of steps already taken, Optimizer::steps(). Each step gets
  /// different masks.
  static Context train(std::uint64_t seed, std::uint64_t step) {
    return {.training = true, .rng = Rng(seed) / "dropout" / step};
  }

  /// The dropout of rate p * dropout_scale for the module `id` (Scope::id()); no dropout outside
  /// training. Throws Error when training with a rate above 0 and no rng.
  DropoutOptions dropout(double p, std::uint64_t id) const {
    p *= dropout_scale;
    if (!training || p == 0) return {};
    check<Error>(rng.has_value(),
                 "Context: training with dropout needs rng, a stream of random numbers for each "
                 "step; use Context::train(seed, step)");
    return {p, *rng / id, first_sample};
  }
};

}  // namespace xgrad
