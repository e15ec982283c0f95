// Trial runs of a config: overfit_batch() checks the model on one batch, try_rates() tries learning
// rates, and profile() shows how the time of a step divides among ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

/// The end of training on one batch.
struct Overfit {
  std::size_t examples = 0;  ///< number of examples in the batch
  StepReport last = {};      ///< the last step
  bool memorised = false;    ///< whether the loss of the last step was below 1e-3
};

/// Trains on the first batch only, without dropout, label smoothing and weight decay, until the
/// batch is memorised or the loss has stopped falling. No fixed number of steps is enough for every
/// model, because noise in the targets is learned slowly. Calls `watch` after each step.
Overfit overfit_batch(Config config, const std::function<void(const StepReport&)>& watch);

/// A learning rate that was tried, and the smoothed training loss at its step.
struct TriedRate {
  double lr;    ///< the learning rate
  double loss;  ///< moving average of the losses so far
};

/// The learning rate range test (Smith 2017): trains `steps` steps at learning rates that grow from
/// `from` to `to`. Stops earlier if the loss diverges. Throws NumericError or Error if the loss
/// diverges after too few steps.
std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps);

/// The learning rate at which the loss falls fastest. With n points and w = max(1, n / 10), the
/// fall at point i is the loss at point i - w minus the loss at point i + w.
double steepest(const std::vector<TriedRate>& tried);

std::string to_text(const std::vector<TriedRate>& tried);  ///< the curve as a plot of characters

/// Sums over all calls of one part of a step: an op, the backward of an op, or other work.
struct ProfileRow {
  std::string name;         ///< "linear", "linear backward", "loader"
  std::uint64_t calls = 0;  ///< number of calls in all steps
  double seconds = 0;       ///< time excluding nested calls
  std::uint64_t flops = 0;  ///< 2 m n k for each matrix product that ran
  /// Bytes that the op has to move: forward reads its inputs and writes its result; backward reads
  /// the result's gradient and the inputs that want a gradient, and writes their gradients.
  std::uint64_t bytes = 0;
};

/// The profile of some steps.
struct Profile {
  std::size_t steps = 0;  ///< number of steps measured
  double seconds = 0;     ///< time of all steps
  /// Fraction of a step's time in all rows except "other" and "between ops: ...". Median over
  /// steps: a pause of the machine lowers the fraction of one step, but hardly the median.
  double explained = 0;
  std::vector<ProfileRow> rows = {};  ///< rows, longest first
  double gemm_rate = 0;               ///< FLOP/s of a large matrix product on this machine
  double copy_rate = 0;               ///< bytes/s read and written by a large copy
  std::string trace = {};             ///< the last step in Chrome's trace event format
};

/// Measures this many training steps of a config after three unmeasured ones, and discards the
/// trained model. Throws the errors of Trainer.
Profile profile(const Config& config, std::size_t steps);

std::string to_text(const Profile& profile);  ///< returns a table to print, ending with a line feed

}  // namespace xgrad
