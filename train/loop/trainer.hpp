// Trainer: the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <xgrad/data/prefetch_loader.hpp>
#include <xgrad/optim/ema.hpp>
#include <xgrad/optim/optimizer.hpp>
#include <xgrad/optim/plateau.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/optim/spikes.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/init_from.hpp>

namespace xgrad {

/// What one step did.
struct StepReport {
  std::uint64_t step = 0;  ///< steps taken, this one included
  double loss = 0;         ///< of the step's batch, before the update; without the penalty
  double lr = 0;           ///< learning rate of the step
  double grad_norm = 0;    ///< before clipping
  std::size_t tokens = 0;  ///< tokens or vectors read, padding not counted; of images, the images
  double head_diversity = 0;  ///< the penalty of that name; 0 where its weight is
  Metrics metrics;            ///< of the step's batch; filled on every log.every-th step
  std::string fault;          ///< why nothing was updated; empty when something was
};

/// Who watches a run, and may end it.
class TrainerHooks {
 public:
  virtual ~TrainerHooks() = default;
  /// A step was taken.
  virtual void on_step(const StepReport&) {}
  /// The validation split was scored after `step`.
  virtual void on_evaluation(std::uint64_t /*step*/, const Metrics& /*validation*/) {}
  /// A state is to be saved.
  virtual void on_checkpoint(const Checkpoint&) {}
  /// A step failed that [train] on_spike passes over; the run goes on behind `step`.
  virtual void on_spike(const StepReport&, std::uint64_t /*step*/) {}
  /// A step failed and ends the run; see failed_step.hpp.
  virtual void on_fault(const Checkpoint& /*failed*/) {}
  /// Whether to end the run after this step, with a save.
  virtual bool stop() { return false; }
  /// Whether to break off an evaluation; asked before each of its batches.
  virtual bool break_off() { return false; }
  /// Whether somebody asked for a save now.
  virtual bool take_save() { return false; }
};

/// Calls f(outputs, batch) for every batch of a data set, in order and without dropout, unless
/// `break_off`, asked before each, says to stop. Returns whether it came to the end.
template <class T, class F>
bool for_each_output(const SequenceModel<T>& model, const Dataset& dataset, const TaskShape& shape,
                     std::size_t batch, const F& f, const Context& context = {},
                     const std::function<bool()>& break_off = {}) {
  const NoGrad no_grad;
  Loader loader(dataset, shape, {.batch = batch});
  for (std::size_t i = loader.batches_per_epoch(); i > 0; --i) {
    if (break_off && break_off()) return false;
    const Batch b = loader.next();
    f(model(BatchInput<T>(b).input(), context).value(), b);
  }
  return true;
}

/// Loss and metrics of a model on a whole data set, without dropout.
template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Dataset& dataset, const TaskShape& shape,
                 const Objective& objective, std::size_t batch, const Context& context = {});

/// Trains the model of a config. T is float or double.
///
/// Everything it does is a function of the config and of (step, loader position), so a run that
/// goes on from a checkpoint ends with the same bits as one that was never interrupted, on any
/// number of threads.
template <class T>
class Trainer {
 public:
  /// Begins, from the weights of [model] init_from if it names a file; or goes on from a
  /// checkpoint, which has read that file long ago. Reads the data of all three splits: foreign
  /// HDF5 is read by a forked process, which is safe only before the first step starts a thread.
  /// Throws ConfigError, DataError, IoError, CheckpointError.
  explicit Trainer(const Config& config, const Checkpoint* checkpoint = nullptr);

  /// Goes on from a checkpoint. Throws CheckpointError, with nothing changed, when it does not fit.
  void restore(const Checkpoint& checkpoint);
  /// The state of the run, to be saved.
  Checkpoint capture() const;

  /// Trains to the last step, or until hooks.stop(). Saves as the config says, at the best
  /// validation loss so far, at the end, and when stopped. A validation that hooks.break_off() ends
  /// counts for nothing: the run stops, and what goes on from its save validates first.
  ///
  /// Throws NumericError when a parameter, the loss or a gradient is not finite, unless
  /// [train] on_spike says otherwise; the parameters are then those of the step before, and the
  /// message names the first op whose output or gradient is not finite, found by a second run. Also
  /// when the loss of a validation is not finite and on_spike is not "rollback".
  void run(TrainerHooks& hooks);

  /// One step, at `lr` instead of the schedule's when given. Throws NumericError as run() does.
  StepReport train_step(std::optional<double> lr = {});
  /// Every later step sees the batches that would come next, again and again; returns them.
  const std::vector<Batch>& hold_batch() { return held_ = next_batches(); }

  /// Of the weights' means, where the config keeps them.
  Metrics evaluate(Split split) const;
  /// Calls f while the parameters have the values that evaluate() scores: their means, where the
  /// config keeps them.
  void with_evaluated_weights(const std::function<void()>& f) const;
  /// The same; nothing when hooks.break_off() ended it.
  std::optional<Metrics> evaluate(Split split, TrainerHooks& hooks) const;

  /// Steps taken.
  std::uint64_t step() const { return step_; }
  /// Those of the whole run.
  std::uint64_t total_steps() const { return total_steps_; }
  /// At the last step, or when the validation loss has not become better for train.patience
  /// evaluations; and nothing is left to validate.
  bool finished() const {
    return !owes_validation_ && (step_ >= total_steps_ || out_of_patience());
  }
  /// Whether the step that was taken last is still to be validated.
  bool owes_validation() const { return owes_validation_; }
  /// Whether train.patience ended the run.
  bool out_of_patience() const {
    return config_.train.patience > 0 && bad_evaluations_ >= config_.train.patience;
  }
  /// The weights.
  const Parameters<T>& parameters() const { return parameters_; }
  /// What is trained.
  const SequenceModel<T>& model() const { return *model_; }
  /// What it is trained for.
  const Task& task() const { return *task_; }
  /// The examples of a split.
  std::size_t examples(Split split) const { return data(split).size(); }
  /// An upper bound of the bytes of a checkpoint of this run.
  std::size_t checkpoint_bytes() const;
  /// How many numbers the optimizer's state and the weights' means hold.
  std::size_t state_numbers() const;
  /// What [model] init_from gave, when this trainer has read it.
  const std::optional<Initialization>& initialization() const { return initialization_; }
  /// The step whose validation loss was the least.
  std::uint64_t best_step() const { return best_step_; }

 private:
  const Dataset& data(Split split) const;
  std::vector<Batch> next_batches();
  // Reads the batches of the step at hand.
  void begin_step();
  StepReport try_step(std::optional<double> lr = {});
  void run_batches(StepReport& report);
  // Whether an interval in steps ends; one of 0 does with each epoch.
  bool is_due(std::uint64_t every) const;
  bool is_sound(TrainerHooks& hooks);
  // Whether the run stops.
  bool end_step(TrainerHooks& hooks, bool stop, bool save_due);
  // Whether the loss is the best so far.
  bool validate(TrainerHooks& hooks);
  void save(TrainerHooks& hooks);
  std::string fault_of_parameters() const;
  std::string fault_of_state() const;
  std::string fault_of(const StepReport& report) const;
  std::string locate();
  [[noreturn]] void fail(const StepReport& report, TrainerHooks& hooks);
  // Whether the run goes on, one step later or at the last save.
  bool get_over(const StepReport& report, TrainerHooks& hooks);
  // From a validation whose loss is not finite to the last save, or not at all.
  void go_back(TrainerHooks& hooks);

  Config config_;
  std::unique_ptr<Task> task_;
  TaskShape shape_;
  Objective objective_;
  std::unique_ptr<Dataset> train_, validation_, test_;
  Parameters<T> parameters_;
  std::unique_ptr<SequenceModel<T>> model_;
  std::unique_ptr<Optimizer<T>> optimizer_;
  std::unique_ptr<Ema<T>> ema_;  // null: none is kept
  PrefetchLoader loader_;
  std::vector<Batch> held_;
  std::vector<Batch> batches_;  // of the step at hand
  LoaderState before_;          // of that step
  std::uint64_t total_steps_;
  std::uint64_t evaluate_every_;  // 0: with each epoch
  std::uint64_t save_every_;      // 0: with each epoch
  Schedule schedule_;
  std::optional<Plateau> plateau_;
  SpikeGuard spikes_;
  std::uint64_t spikes_in_a_row_ = 0;
  std::optional<Checkpoint> saved_;  // what on_spike = "rollback" goes back to
  std::uint64_t step_ = 0;
  double best_loss_;
  std::uint64_t best_step_ = 0;
  std::uint64_t bad_evaluations_ = 0;  // since the best
  bool owes_validation_ = false;
  std::optional<Initialization> initialization_;
};

}  // namespace xgrad
