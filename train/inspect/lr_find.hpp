// The learning rate range test (Smith 2017): the training loss while the learning rate grows.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A learning rate and the smoothed training loss at it.
struct TriedRate {
  double lr;    ///< the learning rate
  double loss;  ///< moving average of the losses so far
};

/// Trains `steps` steps of a config at learning rates that grow from `from` to `to`, fewer if the
/// loss diverges. Throws NumericError or Error if that are too few for a curve.
std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps);

/// The learning rate around which the loss falls fastest, a tenth of the curve to either side.
double steepest(const std::vector<TriedRate>& tried);

/// The curve as a plot of characters.
std::string to_text(const std::vector<TriedRate>& tried);

}  // namespace xgrad
