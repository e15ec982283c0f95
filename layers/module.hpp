// What a layer is: a class that holds its parameters and has a call operator.
//
// There is no virtual forward, since signatures differ; the one polymorphic seam is SequenceModel
// (model.hpp). Whether a layer trains, and its randomness, are arguments, never hidden state.
#pragma once

#include <cstdint>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

class AttentionObserver;  // layers/attention_observer.hpp

/// How a forward runs.
struct Context {
  bool training = false;           ///< dropout is on
  Rng rng = Rng(0);                ///< of this step; a layer derives its own stream from it
  std::uint32_t first_sample = 0;  ///< place of the batch's first sample in the logical batch
  AttentionObserver* attention = nullptr;  ///< looks into every attention; null: nobody
  bool recompute =
      false;  ///< an Encoder keeps of each block its input, and runs it again in backward

  /// The dropout of rate p at a place in the model; rate 0 outside training.
  Dropout dropout(double p, std::uint64_t site) const {
    return {training ? p : 0.0, rng / site, first_sample};
  }
};

}  // namespace xgrad
