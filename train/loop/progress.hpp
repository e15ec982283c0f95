// Progress: all state of a run except tensors.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <xgrad/data/loader.hpp>
#include <xgrad/optim/plateau.hpp>
#include <xgrad/optim/spikes.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The progress of a run. Each member is an entry of the list in state.cpp.
struct Progress {
  /// Reads the progress from a checkpoint; without one, starts a run. Throws CheckpointError if an
  /// entry is missing, of another type or negative. Entries that depend on keys which a resumed run
  /// may change can be missing.
  explicit Progress(const Config& config, const Checkpoint* checkpoint = nullptr);
  /// Sets the step of a checkpoint and adds the entries that the config needs to its state.
  void write(const Config& config, Checkpoint& checkpoint) const;
  /// Records the validation loss of this step. Returns whether it is the best so far.
  bool observe(double loss);
  /// Counts another failed step, and returns whether it ends the run, given [train] on_spike: the
  /// eleventh in a row does. `lasting` says that weights or optimizer contain NaN or infinity:
  /// skipping cannot repair that, only rollback can.
  bool is_fatal(const std::string& on_spike, bool lasting);

  std::uint64_t step = 0;             ///< steps taken
  LoaderState loader = {};            ///< position of the next batch in the data
  std::uint64_t optimizer_steps = 0;  ///< updates of the weights
  double best_loss = std::numeric_limits<double>::infinity();  ///< lowest validation loss
  std::uint64_t best_step = 0;                                 ///< step with that loss
  std::uint64_t bad_evaluations = 0;                           ///< validations since best_step
  bool owes_validation = false;  ///< the last step is not validated yet
  Plateau plateau;               ///< state of schedule "plateau"
  std::uint64_t averaged = 0;    ///< weights in the average of train.swa_start
  SpikeGuard spikes;             ///< running mean of the gradient norm
  /// Failed steps since the last good one (on_spike "skip") or the last save ("rollback").
  std::uint64_t failures_in_a_row = 0;
};

}  // namespace xgrad
