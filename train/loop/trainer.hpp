// Trainer: the training loop. Progress: the state of a run except its tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/prefetch_loader.hpp>
#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/trace.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>
#include <xgrad/train/ranks/gradient_shards.hpp>
#include <xgrad/train/weights/init_from.hpp>

namespace xgrad {

/// The result of one step.
struct StepReport {
  std::uint64_t step = 0;   ///< number of steps taken, this one included
  std::uint64_t total = 0;  ///< number of steps of the whole run
  double loss = 0;          ///< batch loss before the update, without the penalty head_diversity
  double lr = 0;            ///< learning rate of the step
  double grad_norm = 0;     ///< gradient norm before clipping
  std::size_t tokens = 0;   ///< tokens or vectors without padding; for images, the number of images
  std::size_t max_length = 0;  ///< length of the longest example; 0 for images
  double head_diversity = 0;   ///< the penalty, without its weight; 0 if train.head_diversity is 0
  Metrics metrics = {};        ///< metrics of the batch; empty unless log.every divides `step`
  std::string failure = {};    ///< why the step updated nothing; empty after an update
  /// If no gradient reaches some parameter: the op at which the gradient ends. Such a failure ends
  /// the run. Empty for other failures.
  std::string where = {};
};

/// Callbacks that observe a run and can end it.
class TrainerHooks {
 public:
  virtual ~TrainerHooks() = default;
  /// Called after each step that updated the weights.
  virtual void on_step(const StepReport&) {}
  /// Called after the validation split was evaluated at `step`.
  virtual void on_evaluation(std::uint64_t /*step*/, const Metrics& /*validation*/) {}
  /// Called to save a checkpoint; with several ranks, only on rank 0.
  virtual void on_checkpoint(const Checkpoint&) {}
  /// Called after a failed step that does not end the run ([train] on_spike). `step` is the number
  /// of steps taken: a skipped step counts; a rollback returns to the number at the last save.
  virtual void on_failed_step(const StepReport&, std::uint64_t /*step*/) {}
  /// Called when a failed step ends the run. `failed` has the state before the step and the step's
  /// batches. Returns text to add to the error message.
  virtual std::string on_fatal_step(const Checkpoint& /*failed*/) { return ""; }
  /// Returns whether to save and end the run now. If stop() is true on one rank, all ranks stop.
  virtual bool stop() { return false; }
  /// Called when the run stops because another rank was told to stop.
  virtual void on_stop_of(std::size_t /*rank*/) {}
  /// Returns whether to stop an evaluation early; called before each of its batches.
  virtual bool break_off() { return false; }
  /// Returns whether a save was requested since the last call. If so on one rank, all ranks save.
  virtual bool take_save() { return false; }
};

/// The progress of a run. A checkpoint stores the members that the config needs, except `step`, as
/// entries of Checkpoint::state; progress.cpp lists the names of these entries.
struct Progress {
  /// Reads the progress from a checkpoint; without one, starts a run. Some entries are required;
  /// others belong to a group that is stored as a whole or not at all. Throws CheckpointError if a
  /// required entry or a part of a group is missing, or if a count is negative or an entry of
  /// another type.
  explicit Progress(const Config& config, const Checkpoint* checkpoint = nullptr);
  /// Sets a checkpoint's step, and adds to its state the entries that the config needs.
  void write(const Config& config, Checkpoint& checkpoint) const;
  /// Records a validation of this step: its loss, and `figure`, the value of train.best_metric.
  /// Returns whether this value is finite and the best so far.
  bool observe(double loss, const Figure& figure);
  /// Counts another failed step. Returns whether this step ends the run. With [train] on_spike =
  /// "stop", every failed step ends the run. With "skip", a `lasting` failure does: the
  /// weights, their averages or the optimizer's state hold NaN or infinity. The eleventh failure in
  /// a row always ends the run.
  bool is_fatal(const std::string& on_spike, bool lasting);

  std::uint64_t step = 0;             ///< steps taken
  LoaderState loader = {};            ///< position of the next batch in the data
  std::uint64_t optimizer_steps = 0;  ///< updates of the weights
  double best_value = std::numeric_limits<double>::infinity();  ///< best train.best_metric
  std::uint64_t best_step = 0;        ///< first step with that value; 0: none yet
  std::uint64_t bad_evaluations = 0;  ///< validations since best_step
  bool owes_validation = false;       ///< whether the last step still has to be validated
  Plateau plateau;                    ///< state of schedule "plateau"
  std::uint64_t averaged = 0;         ///< steps in the average of train.swa_start so far
  SpikeGuard spikes;                  ///< running mean of the gradient norm
  /// Failed steps since the last good one (on_spike "skip") or the last save ("rollback").
  std::uint64_t failures_in_a_row = 0;
};

/// Trains the model of a config. T is float or double. Each step depends only on the config, the
/// data and what capture() saves. So a resumed run ends with the same bits as an uninterrupted run,
/// on any number of threads.
template <class T>
class Trainer {
 public:
  /// Starts a run, from the weights of [model] init_from if it is set, or resumes from a
  /// checkpoint. `task` is the config's task if it is already made. Reads all data that the task
  /// has not read yet, because reading an untrusted HDF5 file may fork. That is safe only before
  /// the first step starts threads. Throws ConfigError, DataError, IoError, CheckpointError.
  ///
  /// With several `ranks`, each rank has a trainer with the same arguments, and all ranks call the
  /// same functions in the same order. Const functions may be called by one rank alone, except
  /// capture(), evaluate(), with_evaluated_weights() and gather_gradients().
  explicit Trainer(const Config& config, const Checkpoint* checkpoint = nullptr,
                   std::shared_ptr<const Task> task = nullptr, Ranks& ranks = alone());
  /// Defined in trainer.cpp, because the destructors of all members take long to compile.
  ~Trainer();

  /// Resumes from a checkpoint. Throws CheckpointError, with nothing changed, if it does not fit.
  void restore(const Checkpoint& checkpoint) {
    restore(checkpoint, Progress(config_, &checkpoint));
  }
  /// Returns the state of the run as a checkpoint. With several ranks, only rank 0 gets the state
  /// of the optimizer unless `everywhere`.
  Checkpoint capture(bool everywhere = true) const;

  /// Trains to the last step, or until hooks.stop(). Saves at the intervals of the config, after a
  /// new best validation, at the end, and when stopped. If hooks.break_off() ends a validation
  /// early, the run stops; the resumed run validates that step first.
  ///
  /// Throws NumericError if a parameter, the loss or a gradient is NaN or infinite, or the gradient
  /// norm is a spike, and [train] on_spike does not handle the failure. The parameters then have
  /// their values from before the step. If the loss or the gradient norm is NaN or infinite, the
  /// step's batches run again to find the cause: the message names the first op with such an output
  /// or gradient, or says that there was none. Also throws NumericError if a validation loss is not
  /// finite and the run cannot roll back to an earlier step, and if no gradient reaches some
  /// parameter ([train] dead_gradients_every).
  void run(TrainerHooks& hooks);

  /// Does one step. The learning rate is `lr` if given, else the schedule's. Throws as run().
  StepReport train_step(std::optional<double> lr = {});
  /// Makes all later steps use the batches of the next step, and returns these batches.
  const std::vector<Batch>& hold_batch() {
    held_.clear();
    return held_ = next_batches();
  }

  /// Evaluates a split, with the averaged weights if the config keeps them.
  Metrics evaluate(Split split) const {
    TrainerHooks nobody;
    return *evaluate(split, nobody);
  }
  /// Calls f while the parameters hold the weights that evaluate() uses.
  void with_evaluated_weights(const std::function<void()>& f) const;
  /// Gathers the gradients of the last step from all ranks. Before this call, each rank has only
  /// the gradients of its slice of the parameters, as in ZeRO.
  void gather_gradients() const { shards_.gather_gradients(); }
  /// Evaluates a split, with the weights of `checkpoint` if rank 0 passes a checkpoint. Returns
  /// nothing if hooks.break_off() ended the evaluation early.
  std::optional<Metrics> evaluate(Split split, TrainerHooks& hooks,
                                  const Checkpoint* checkpoint = nullptr) const;

  /// Number of steps taken.
  std::uint64_t step() const { return progress_.step; }
  /// The first step with the best train.best_metric in a validation; 0 before a validation.
  std::uint64_t best_step() const { return progress_.best_step; }
  /// Number of steps of the whole run.
  std::uint64_t total_steps() const { return total_steps_; }
  /// Whether the run is at its last step or out of patience, and no validation is due.
  bool finished() const {
    return !owes_validation() && (step() >= total_steps_ || out_of_patience());
  }
  /// Whether the last step still has to be validated.
  bool owes_validation() const { return progress_.owes_validation; }
  /// Whether train.patience ended the run.
  bool out_of_patience() const {
    return config_.train.patience > 0 && progress_.bad_evaluations >= config_.train.patience;
  }
  /// The model's weights.
  const Parameters<T>& parameters() const { return parameters_; }
  /// The model.
  const SequenceModel<T>& model() const { return *model_; }
  /// The task.
  const Task& task() const { return *task_; }
  /// Number of examples in a split.
  std::size_t examples(Split split) const { return data(split).size(); }
  /// An upper bound of the size of this run's checkpoints, in bytes.
  std::size_t checkpoint_bytes() const;
  /// Number of scalars in the optimizer's state and the averaged weights.
  std::size_t state_numbers() const {
    std::size_t numbers = 0;
    for_each_state([&](const OptimizerState<T>& s) { numbers += size_of(s.shape); });
    return numbers;
  }
  /// The weights that [model] init_from provided, if this trainer read them.
  const std::optional<Initialization>& initialization() const { return initialization_; }

 private:
  struct Due {
    bool save, stop;  // a run that stops is also saved
  };

  const Dataset& data(Split split) const { return *data_[std::size_t(split)]; }
  std::vector<Batch> next_batches();
  template <class F>
  void for_each_state(const F& f) const {
    std::for_each(optimizer_->state().begin(), optimizer_->state().end(), f);
    if (average_) std::for_each(average_->state().begin(), average_->state().end(), f);
  }
  // Whether an interval of this many steps ends here; 0 stands for an epoch.
  bool is_due(std::uint64_t every) const;
  // Returns whether any rank was asked to save, and whether any rank was asked to stop.
  Due asked(TrainerHooks& hooks, bool save, bool stop) const;
  StepReport try_step(std::optional<double> lr = {});
  void run_batches(StepReport& report, const SeeLoss<T>& see = {});
  // Runs the step's batches again, with train.recompute off, to find the cause of a failure.
  void repeat_batches(const SeeLoss<T>& see = {});
  // Updates the averaged weights after the update of the current step.
  void update_average();
  // Counts the current step as taken, whether it updated the weights or was skipped.
  void end_step() {
    ++progress_.step;
    progress_.loader = loader_.state();
  }
  // Returns whether parameters, optimizer and averaged weights are finite. If they are not, goes
  // back to the last save and returns false, or ends the run with NumericError.
  bool is_sound(TrainerHooks& hooks);
  void validate(TrainerHooks& hooks, Due& due);
  void restore(const Checkpoint& checkpoint, const Progress& progress);
  // Describes the first NaN or infinity in the parameters; empty if there is none.
  std::string failure_of_parameters() const;
  // As above, for the parameters, the optimizer's state and the averaged weights.
  std::string failure_of_state() const;
  // Describes a loss or gradient norm that is NaN or infinite, or a spike of the norm; else empty.
  std::string failure_of(const StepReport& report) const;
  // If a check for dead gradients is due and finds any, sets report.failure.
  void check_gradients(StepReport& report);
  [[noreturn]] void end(const StepReport& failed, TrainerHooks& hooks);
  // Skips a failed step or rolls back, unless the run has to end.
  bool recover(const StepReport& failed, TrainerHooks& hooks);

  Config config_;
  std::shared_ptr<const Task> task_;
  TaskShape shape_;
  std::array<std::unique_ptr<Dataset>, 3> data_;  // by Split
  Objective objective_;
  Parameters<T> parameters_;
  std::unique_ptr<SequenceModel<T>> model_;
  GradientShards<T> shards_;
  std::unique_ptr<Optimizer<T>> optimizer_;
  std::unique_ptr<AveragedWeights<T>> average_;  // null: no averaged weights
  // During a step, loader_ is already past the batches of the step. progress_.loader is the
  // position before them, from which a failed step can be repeated.
  PrefetchLoader loader_;
  std::vector<Batch> held_;
  std::vector<Batch> batches_;  // micro-batches of the current step
  std::uint64_t total_steps_;
  std::uint64_t evaluate_every_;  // 0: every epoch
  std::uint64_t save_every_;      // 0: every epoch
  Schedule schedule_;
  bool rolls_back_;  // after a failed step
  DeadGradients<T> dead_gradients_;
  Progress progress_;
  std::optional<Checkpoint> saved_;  // the last save, if failed steps roll back
  std::optional<Initialization> initialization_;
};

}  // namespace xgrad
