// What a layer is: a class that holds its parameters and has a call operator.
//
// There is no virtual forward, since signatures differ; the one polymorphic seam is SequenceModel
// (model.hpp). Whether a layer trains, and its randomness, are arguments, never hidden state.
#pragma once

#include <cstdint>
#include <optional>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

class AttentionObserver;  // layers/attention_observer.hpp

/// How a forward runs: by default as in evaluation, without dropout.
struct Context {
  bool training = false;                  ///< dropout is on
  std::optional<Rng> rng = std::nullopt;  ///< of this step; each layer derives its own stream
  std::uint32_t first_sample = 0;  ///< place of the batch's first sample in the logical batch
  AttentionObserver* attention = nullptr;  ///< looks into every attention; null: nobody
  bool recompute =
      false;  ///< an Encoder keeps of each block its input, and runs it again in backward

  /// A training step, with the dropout masks of the trainer: `seed` as in train.seed, `step` the
  /// number of steps taken before, as Optimizer::steps() gives it. Each step has masks of its own.
  static Context train(std::uint64_t seed, std::uint64_t step) {
    return {.training = true, .rng = Rng(seed) / "dropout" / step};
  }

  /// The dropout of rate p at a place in the model; rate 0 outside training. Throws Error when p >
  /// 0 in training and rng is absent.
  Dropout dropout(double p, std::uint64_t site) const {
    if (!training || p == 0) return {};
    check<Error>(rng.has_value(),
                 "Context: training with dropout needs rng, a stream of random numbers for each "
                 "step; use Context::train(seed, step)");
    return {p, *rng / site, first_sample};
  }
};

}  // namespace xgrad
