#include <xgrad/train/loop/trainer.hpp>

#include <algorithm>
#include <span>

#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/parts.hpp>
#include <xgrad/train/ranks/score.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

// The curriculum counts micro-batches; `accumulate` of them make a step.
static Curriculum curriculum_of(const TrainConfig& config) {
  return {config.curriculum_start, config.curriculum_steps * config.accumulate, config.accumulate};
}

static std::uint64_t planned_evaluation(const TrainConfig& config) {
  if (config.evaluate_every > 0 || config.epochs > 0) return config.evaluate_every;
  return std::max<std::uint64_t>(1, config.steps / 10);
}

static Figure best_figure(const Metrics& metrics, const TrainConfig& train) {
  const std::vector<Figure> figures = metrics.figures();
  const auto found = std::ranges::find(figures, train.best_metric, &Figure::name);
  check<ConfigError>(found != figures.end(), "train.best_metric: ", train.best_metric,
                     " is not measured for this task");
  return *found;
}

static std::size_t max_length(const Batch& batch) {
  if (batch.ids.dimension() == 2) return batch.ids.shape()[1];
  return batch.features.dimension() == 3 ? batch.features.shape()[1] : 0;
}

static std::size_t count_tokens(const Batch& batch) {
  if (!batch.mask) return batch.size * std::max<std::size_t>(1, max_length(batch));
  return std::size_t(std::count(batch.mask->data(), batch.mask->data() + batch.mask->size(), 1));
}

template <class T>
Trainer<T>::Trainer(const Config& config, const Checkpoint* checkpoint,
                    std::shared_ptr<const Task> task, Ranks& ranks)
    : config_(config),
      task_(task ? std::move(task) : make_task(config, checkpoint)),
      shape_(task_->shape()),
      data_{task_->dataset(Split::train), task_->dataset(Split::validation),
            task_->dataset(Split::test)},
      objective_(training_objective(config.train, shape_, &data(Split::train))),
      parameters_(config.train.seed),
      model_(make_model<T>(config, shape_, parameters_)),
      shards_(parameters_, config.train.shards, ranks),
      optimizer_(make_optimizer<T>(config.optim, parameters_, shards_.slice())),
      loader_(Loader(data(Split::train), shape_,
                     {.batch = config.train.batch,
                      .seed = config.train.seed,
                      .shuffle = true,
                      .bucket = config.train.bucket,
                      .curriculum = curriculum_of(config.train)}),
              config.train.accumulate),
      total_steps_(planned_steps(config.train, examples(Split::train))),
      evaluate_every_(planned_evaluation(config.train)),
      save_every_(config.train.save_every > 0 ? config.train.save_every : evaluate_every_),
      schedule_(make_schedule(config, total_steps_)),
      rolls_back_(config.train.on_spike == "rollback"),
      dead_gradients_(parameters_),
      progress_(config) {
  check<ConfigError>(shards_.tensors() > 0, "optim.groups: every parameter is frozen");
  best_figure({.target = shape_.target, .next = shape_.next}, config.train);
  if (checkpoint == nullptr && !config.model.init_from.empty()) {
    initialization_ = initialize(config, shape_, parameters_);
  }
  if (config.train.ema > 0 || config.train.swa_start > 0) {
    const char* kind = config.train.ema > 0 ? "ema" : "swa";
    average_ = std::make_unique<AveragedWeights<T>>(parameters_, kind, shards_.slice());
  }
  if (checkpoint != nullptr) restore(*checkpoint);
}

template <class T>
Trainer<T>::~Trainer() = default;

template <class T>
void Trainer<T>::run(TrainerHooks& hooks) {
  if (rolls_back_) saved_ = capture();
  while (!finished()) {
    // A run that was stopped during a validation first repeats that validation.
    if (!owes_validation()) {
      const StepReport report = try_step();
      if (report.failure.empty()) {
        hooks.on_step(report);
      } else if (!recover(report, hooks)) {
        end(report, hooks);
      }
      if (step() != report.step) continue;  // returned to the last save
    }
    const bool stop = hooks.stop();
    Due due = asked(hooks, hooks.take_save(), stop);
    due.save = due.save || due.stop || owes_validation() || is_due(save_every_);
    progress_.owes_validation = owes_validation() || finished() || is_due(evaluate_every_);
    if ((due.save || owes_validation()) && !is_sound(hooks)) continue;
    if (owes_validation()) validate(hooks, due);
    if (due.save) {
      if (rolls_back_) progress_.failures_in_a_row = 0;
      Checkpoint now = capture(/*everywhere=*/rolls_back_);
      if (shards_.ranks().rank() == 0) hooks.on_checkpoint(now);
      if (rolls_back_) saved_ = std::move(now);
    }
    if (due.stop) return;
  }
}

template <class T>
auto Trainer<T>::asked(TrainerHooks& hooks, bool save, bool stop) const -> Due {
  const std::vector<char> all = gather_all(shards_.ranks(), char(save + 2 * stop));
  const auto stops = std::ranges::find_if(all, [](char rank) { return (rank & 2) != 0; });
  if (stops != all.end() && !stop) hooks.on_stop_of(std::size_t(stops - all.begin()));
  return {std::ranges::any_of(all, [](char rank) { return (rank & 1) != 0; }), stops != all.end()};
}

// The micro-batches of a step may belong to two epochs.
template <class T>
bool Trainer<T>::is_due(std::uint64_t every) const {
  if (every > 0) return step() % every == 0;
  const std::uint64_t batch = config_.train.batch;
  const std::uint64_t an_epoch = (examples(Split::train) + batch - 1) / batch;
  const std::uint64_t taken = step() * config_.train.accumulate;
  return taken / an_epoch > (taken - config_.train.accumulate) / an_epoch;
}

// If the update left a NaN or infinity, the next step fails before a validation or a save.
template <class T>
bool Trainer<T>::is_sound(TrainerHooks& hooks) {
  const StepReport next{.step = step() + 1, .failure = failure_of_state()};
  if (next.failure.empty()) return true;
  progress_.owes_validation = false;
  if (recover(next, hooks)) return false;
  batches_ = next_batches();
  end(next, hooks);
}

template <class T>
std::vector<Batch> Trainer<T>::next_batches() {
  if (!held_.empty()) return held_;
  const Region region("loader");
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < config_.train.accumulate; ++i) batches.push_back(loader_.next());
  return batches;
}

template <class T>
StepReport Trainer<T>::train_step(std::optional<double> lr) {
  const StepReport report = try_step(lr);
  TrainerHooks nobody;
  if (!report.failure.empty()) end(report, nobody);
  return report;
}

template <class T>
StepReport Trainer<T>::try_step(std::optional<double> lr) {
  batches_ = next_batches();  // micro-batches of this step
  const double factor = config_.schedule.name == "plateau" ? progress_.plateau.factor() : 1;
  StepReport report{.step = step() + 1,
                    .total = total_steps_,
                    .lr = lr.value_or(schedule_(step()) * factor),
                    .failure = failure_of_parameters()};
  if (!report.failure.empty()) return report;
  run_batches(report);

  const Region region("update");
  report.grad_norm = shards_.norm();
  report.failure = failure_of(report);
  if (report.failure.empty()) check_gradients(report);
  if (!report.failure.empty()) return report;
  double norm = report.grad_norm;
  if (config_.train.clip_value > 0) {
    clip_values(parameters_, config_.train.clip_value, shards_.slice());
    norm = config_.train.clip > 0 ? shards_.norm() : norm;
  }
  optimizer_->step(report.lr, clip_factor(norm, config_.train.clip));
  update_average();
  shards_.gather_values();
  progress_.optimizer_steps = optimizer_->steps();
  progress_.spikes.observe(report.grad_norm);
  if (!rolls_back_) progress_.failures_in_a_row = 0;
  end_step();
  return report;
}

template <class T>
void Trainer<T>::run_batches(StepReport& report, const SeeLoss<T>& see) {
  const bool log = report.step % config_.log_every == 0;
  parameters_.zero_grad();
  Context context = training_context(config_.train, step(), total_steps_);
  context.recompute = config_.train.recompute;
  std::vector<double> losses;  // by shard: loss, penalty
  std::vector<Metrics> metrics;
  const Range shards = shards_.shards();
  for (std::size_t i = shards.begin; i < shards.end; ++i) {
    const Shard shard{i, shards_.count()};
    double sum = 0, penalty = 0;
    metrics.emplace_back();
    std::size_t left = batches_with(batches_, shard);
    const auto send_early = [&] {
      if (i + 1 == shards.end && left == 1) shards_.send_early();
    };
    send_early();
    const auto add = [&](const TrainingLoss<T>& loss, const Batch& batch) {
      sum += double(loss.task.value()());
      if (loss.penalty.defined()) penalty += double(loss.penalty.value()());
      if (log) metrics.back().add(loss.outputs.value(), batch, objective_);
      if (see) see(loss, batch);
      --left;
      send_early();
    };
    forward_backward<T>(*model_, objective_, batches_, context, add, shard, shape_.output);
    shards_.take();
    losses.insert(losses.end(), {sum, penalty});
  }
  shards_.add_up();
  losses = gather_numbers(shards_.ranks(), losses);
  for (std::size_t i = 0; i < losses.size(); i += 2) {
    report.loss += losses[i];
    report.head_diversity += losses[i + 1];
  }
  if (log) report.metrics = add_up(shards_.ranks(), metrics);
  for (const Batch& batch : batches_) {
    report.tokens += count_tokens(batch);
    report.max_length = std::max(report.max_length, max_length(batch));
  }
}

template <class T>
void Trainer<T>::validate(TrainerHooks& hooks, Due& due) {
  const std::optional<Metrics> metrics = evaluate(Split::validation, hooks);
  if (!metrics) {  // ended early: this step still has to be validated
    due = {.save = true, .stop = true};
    return;
  }
  progress_.owes_validation = false;
  const double loss = metrics->loss.mean();
  if (!is_finite_bits(loss)) {
    const StepReport report{.step = step(),
                            .failure = "the loss of the validation split is not finite"};
    // A save of this same step would give the same loss again.
    const bool recovers = saved_ && saved_->step < step() && recover(report, hooks);
    check<NumericError>(recovers, "step ", report.step, ": ", report.failure);
    due.save = false;
    return;
  }
  const bool best = progress_.observe(loss, best_figure(*metrics, config_.train));
  due.save = best || finished() || due.save;
  hooks.on_evaluation(step(), *metrics);
}

template <class T>
std::optional<Metrics> Trainer<T>::evaluate(Split split, TrainerHooks& hooks,
                                            const Checkpoint* checkpoint) const {
  const auto break_off = [&] { return asked(hooks, /*save=*/false, hooks.break_off()).stop; };
  const Pass pass{data(split), shape_, config_.train.batch, {}, break_off};
  std::optional<Scores> scores;
  const std::string sent =
      gather_texts(shards_.ranks(), checkpoint ? to_hdf5(weights_of(*checkpoint)) : "").front();
  std::optional<TrainedModel<T>> given;
  if (!sent.empty()) given.emplace(config_, from_hdf5(sent, "rank 0"), shape_);
  const SequenceModel<T>& model = given ? *given->model : *model_;
  with_evaluated_weights(
      [&] { scores = score(shards_.ranks(), shards_.count(), model, pass, objective_); });
  return scores ? std::optional(scores->metrics) : std::nullopt;
}

// Before train.swa_start, the average equals the current weights.
template <class T>
void Trainer<T>::update_average() {
  if (!average_) return;
  const TrainConfig& train = config_.train;
  double share = 1 - train.ema;
  if (train.swa_start > 0) {
    const std::uint64_t now = step() + 1;
    const bool counts = now > train.swa_start && (now - train.swa_start) % train.swa_every == 0;
    if (!counts && progress_.averaged > 0) return;
    share = counts ? 1 / double(++progress_.averaged) : 1;
  }
  average_->update(share);
}

// Each rank has the averages of its slice, and gets the other slices from the other ranks.
template <class T>
void Trainer<T>::with_evaluated_weights(const std::function<void()>& f) const {
  if (!average_) return f();
  const auto swap = [&] {
    average_->swap();
    shards_.gather_values();
  };
  swap();
  try {
    f();
  } catch (...) {
    average_->swap();  // without gather(), which all ranks would have to call
    throw;
  }
  swap();
}

template <class T>
std::size_t Trainer<T>::checkpoint_bytes() const {
  const std::size_t numbers = parameters_.count() + state_numbers();
  std::size_t tensors = parameters_.size();
  for_each_state([&](const OptimizerState<T>&) { ++tensors; });
  const std::string config = to_toml(config_, /*with_execution_keys=*/false);
  return most_hdf5_bytes(numbers * sizeof(T), tensors,
                         task_->vocabulary_and_scales().size() + config.size());
}

// With several ranks, the state of optimizer and averages comes from all of them.
template <class T>
Checkpoint Trainer<T>::capture(bool everywhere) const {
  const bool wanted = everywhere || shards_.ranks().rank() == 0;
  Checkpoint checkpoint =
      xgrad::capture<T>(parameters_, *optimizer_, average_.get(),
                        [&](auto states) { return shards_.whole(states, wanted); });
  progress_.write(config_, checkpoint);
  checkpoint.state["arithmetic"] = arithmetic(config_.train.precision == "bf16");
  if (const std::string learned = task_->vocabulary_and_scales(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  checkpoint.config = to_toml(config_, /*with_execution_keys=*/false);
  return checkpoint;
}

template <class T>
void Trainer<T>::restore(const Checkpoint& checkpoint, const Progress& progress) {
  check<CheckpointError>(progress.loader.position < examples(Split::train),
                         "the checkpoint's position is ", progress.loader.position,
                         ", but the train split has ", examples(Split::train), " examples");
  // Changes everything or nothing.
  xgrad::restore(checkpoint, parameters_, *optimizer_, average_.get());
  progress_ = progress;
  optimizer_->set_steps(progress.optimizer_steps);
  loader_.restore(progress.loader);
}

#define XGRAD_INSTANTIATE(T) template class Trainer<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
