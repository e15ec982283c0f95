// Trial runs of a config: on one batch, as a check of the model, and over learning rates.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

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

/// A learning rate and the smoothed training loss at it.
struct TriedRate {
  double lr;    ///< the learning rate
  double loss;  ///< moving average of the losses so far
};

/// The learning rate range test (Smith 2017): trains `steps` steps of a config at learning rates
/// that grow from `from` to `to`, fewer if the loss diverges. Throws NumericError or Error if that
/// are too few for a curve.
std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps);

/// The learning rate around which the loss falls fastest, a tenth of the curve to either side.
double steepest(const std::vector<TriedRate>& tried);

/// The curve as a plot of characters.
std::string to_text(const std::vector<TriedRate>& tried);

}  // namespace xgrad
