// overfit_batch(): whether a model can memorise one batch, as a check of model and config.
#pragma once

#include <cstddef>
#include <functional>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

/// The end of training on one batch.
struct Overfit {
  std::size_t examples = 0;  ///< in the batch
  StepReport last = {};      ///< the last step
  bool memorised = false;    ///< whether its loss was below 1e-3
};

/// Trains on the first batch only, without dropout, label smoothing and weight decay, until the
/// batch is memorised or the loss has stopped falling: noise in the targets is learned slowly, so
/// no fixed number of steps is enough for every model. Calls `watch` after each step.
Overfit overfit_batch(Config config, const std::function<void(const StepReport&)>& watch);

}  // namespace xgrad
