#include <xgrad/train/loop/trainer.hpp>

#include <algorithm>
#include <limits>

#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/table.hpp>
#include <xgrad/train/model/training_loss.hpp>

namespace xgrad {

namespace {

std::uint64_t divided_up(std::uint64_t n, std::uint64_t by) {
  return (n + by - 1) / by;
}

std::uint64_t planned_steps(const TrainConfig& config, std::size_t examples) {
  if (config.steps > 0) return config.steps;
  return divided_up(config.epochs * divided_up(examples, config.batch), config.accumulate);
}

std::uint64_t planned_evaluation(const TrainConfig& config) {
  if (config.evaluate_every > 0 || config.epochs > 0) return config.evaluate_every;
  return std::max<std::uint64_t>(1, config.steps / 10);
}

OptimizerSettings settings(const OptimConfig& config) {
  return {config.beta1,    config.beta2,    config.eps,   config.weight_decay,
          config.momentum, config.nesterov, config.alpha, config.groups};
}

ScheduleSettings settings(const ScheduleConfig& config) {
  return {config.final, config.power, config.every, config.gamma, config.decay, config.div};
}

std::optional<Plateau> make_plateau(const ScheduleConfig& config) {
  if (config.name != "plateau") return std::nullopt;
  return Plateau(config.gamma, config.patience, config.final);
}

// Before the model makes its parameters.
template <class T>
Parameters<T>& freeze(Parameters<T>& parameters, const std::vector<ParameterGroup>& groups) {
  parameters.freeze([&groups](const std::string& name) {
    const ParameterGroup* group = group_of(groups, name);
    return group != nullptr && group->freeze;
  });
  return parameters;
}

// While it lives, the parameters have their means' values.
template <class T>
class Averaged {
 public:
  explicit Averaged(Ema<T>* ema) : ema_(ema) {
    if (ema_ != nullptr) ema_->swap();
  }
  ~Averaged() {
    if (ema_ != nullptr) ema_->swap();
  }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

 private:
  Ema<T>* ema_;
};

std::size_t count_tokens(const Batch& batch) {
  if (!batch.mask) {
    if (batch.ids.dimension() == 2) return batch.ids.size();
    return batch.features.dimension() == 3 ? batch.size * batch.features.shape()[1] : batch.size;
  }
  return std::size_t(std::count(batch.mask->data(), batch.mask->data() + batch.mask->size(), 1));
}

}  // namespace

template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Dataset& dataset, const TaskShape& shape,
                 const Objective& objective, std::size_t batch, const Context& context) {
  Metrics metrics;
  for_each_output(
      model, dataset, shape, batch,
      [&](const Tensor<T>& outputs, const Batch& b) { metrics.add(outputs, b, objective); },
      context);
  return metrics;
}

template <class T>
Trainer<T>::Trainer(const Config& config, const Checkpoint* checkpoint)
    : config_(config),
      task_(make_task(config, checkpoint)),
      shape_(task_->shape()),
      objective_(make_objective(config.train, shape_)),
      train_(task_->dataset(Split::train)),
      parameters_(config.train.seed),
      model_(make_model<T>(config.model, shape_, freeze(parameters_, config_.optim.groups))),
      optimizer_(make_optimizer<T>(config.optim.name, parameters_, settings(config.optim))),
      loader_(Loader(*train_, shape_,
                     {.batch = config.train.batch,
                      .seed = config.train.seed,
                      .shuffle = true,
                      .bucket = config.train.bucket}),
              config.train.accumulate),
      total_steps_(planned_steps(config.train, train_->size())),
      evaluate_every_(planned_evaluation(config.train)),
      save_every_(config.train.save_every > 0 ? config.train.save_every : evaluate_every_),
      schedule_(Schedule::shape(config.schedule.name), config.optim.lr, total_steps_,
                config.schedule.warmup, settings(config.schedule)),
      plateau_(make_plateau(config.schedule)),
      spikes_(config.train.spike),
      best_loss_(std::numeric_limits<double>::infinity()) {
  check<ConfigError>(std::any_of(parameters_.begin(), parameters_.end(),
                                 [](const Parameter<T>& p) { return p.variable.requires_grad(); }),
                     "optim.groups: every parameter is frozen");
  if (checkpoint == nullptr && !config.model.init_from.empty()) {
    initialization_ = initialize(config.model, shape_, parameters_);
  }
  if (config.train.ema > 0) ema_ = std::make_unique<Ema<T>>(parameters_, config.train.ema);
  if (checkpoint != nullptr) restore(*checkpoint);
  validation_ = task_->dataset(Split::validation);
  test_ = task_->dataset(Split::test);
}

template <class T>
const Dataset& Trainer<T>::data(Split split) const {
  return split == Split::train ? *train_ : split == Split::validation ? *validation_ : *test_;
}

template <class T>
void Trainer<T>::run(TrainerHooks& hooks) {
  if (config_.train.on_spike == "rollback") saved_ = capture();
  if (owes_validation_ && end_step(hooks, hooks.stop(), /*save_due=*/true)) return;
  while (!finished()) {
    const StepReport report = try_step();
    if (report.fault.empty()) {
      hooks.on_step(report);
    } else if (!get_over(report, hooks)) {
      fail(report, hooks);
    } else if (step_ < report.step) {
      continue;  // gone back to what is saved and evaluated already
    }
    const bool stop = hooks.stop();
    const bool save_due = hooks.take_save() || is_due(save_every_);
    owes_validation_ = finished() || is_due(evaluate_every_);
    if ((stop || save_due || owes_validation_) && !is_sound(hooks)) continue;
    if (end_step(hooks, stop, save_due)) return;
  }
}

// Micro-batches of a step may belong to two epochs.
template <class T>
bool Trainer<T>::is_due(std::uint64_t every) const {
  if (every > 0) return step_ % every == 0;
  const std::uint64_t an_epoch = divided_up(train_->size(), config_.train.batch);
  const std::uint64_t taken = step_ * config_.train.accumulate;
  return taken / an_epoch > (taken - config_.train.accumulate) / an_epoch;
}

// What an update has left not finite is neither validated nor saved: it is the next step that
// fails, before it begins.
template <class T>
bool Trainer<T>::is_sound(TrainerHooks& hooks) {
  StepReport next;
  next.step = step_ + 1;
  next.fault = fault_of_parameters();
  if (next.fault.empty()) next.fault = fault_of_state();
  if (next.fault.empty()) return true;
  owes_validation_ = false;
  if (get_over(next, hooks)) return false;
  begin_step();
  fail(next, hooks);
}

template <class T>
bool Trainer<T>::end_step(TrainerHooks& hooks, bool stop, bool save_due) {
  const std::uint64_t step = step_;
  const bool best = owes_validation_ && validate(hooks);
  if (step_ < step) return stop;  // gone back to what is saved already
  stop = stop || owes_validation_;
  if (finished() || stop || best || save_due) save(hooks);
  return stop;
}

template <class T>
void Trainer<T>::save(TrainerHooks& hooks) {
  if (config_.train.on_spike != "rollback") return hooks.on_checkpoint(capture());
  spikes_in_a_row_ = 0;
  saved_ = capture();
  hooks.on_checkpoint(*saved_);
}

template <class T>
std::vector<Batch> Trainer<T>::next_batches() {
  const Region region("loader");
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < config_.train.accumulate; ++i) batches.push_back(loader_.next());
  return batches;
}

template <class T>
void Trainer<T>::begin_step() {
  before_ = loader_.state();
  batches_ = held_.empty() ? next_batches() : held_;  // one logical batch
}

template <class T>
StepReport Trainer<T>::train_step(std::optional<double> lr) {
  const StepReport report = try_step(lr);
  TrainerHooks nobody;
  if (!report.fault.empty()) fail(report, nobody);
  return report;
}

template <class T>
StepReport Trainer<T>::try_step(std::optional<double> lr) {
  begin_step();
  StepReport report;
  report.step = step_ + 1;
  report.lr = lr ? *lr : schedule_(step_) * (plateau_ ? plateau_->factor() : 1.0);
  report.fault = fault_of_parameters();
  if (!report.fault.empty()) return report;
  run_batches(report);

  const Region region("update");
  report.grad_norm = global_norm(parameters_);
  report.fault = fault_of(report);
  if (!report.fault.empty()) return report;
  optimizer_->step(report.lr, clip_factor(report.grad_norm, config_.train.clip));
  if (ema_) ema_->update();
  spikes_.observe(report.grad_norm);
  if (config_.train.on_spike == "skip") spikes_in_a_row_ = 0;
  ++step_;
  return report;
}

// Forward and backward of all micro-batches; gradients add up in the parameters.
template <class T>
void Trainer<T>::run_batches(StepReport& report) {
  const LogicalBatch whole = together(batches_);
  const bool log = report.step % config_.log_every == 0;
  parameters_.zero_grad();
  Context context = Context::train(config_.train.seed, step_);
  context.recompute = config_.train.recompute;
  for (const Batch& batch : batches_) {
    const BatchInput<T> input(batch);
    const TrainingLoss<T> loss =
        training_loss(*model_, objective_, input.input(), batch, context, whole);
    {
      const Region region("backward");
      loss.minimised.backward();
    }
    report.loss += double(loss.task.value()());
    if (loss.penalty.defined()) report.head_diversity += double(loss.penalty.value()());
    report.tokens += count_tokens(batch);
    if (log) report.metrics.add(loss.outputs.value(), batch, objective_);
    context.first_sample += std::uint32_t(batch.size);
  }
}

template <class T>
bool Trainer<T>::validate(TrainerHooks& hooks) {
  const std::optional<Metrics> metrics = evaluate(Split::validation, hooks);
  owes_validation_ = !metrics;
  if (!metrics) return false;
  const double loss = metrics->loss.mean();
  if (!is_finite_bits(loss)) {
    go_back(hooks);
    return false;
  }
  const bool best = loss < best_loss_;
  if (best) {
    best_loss_ = loss;
    best_step_ = step_;
    bad_evaluations_ = 0;
  } else {
    ++bad_evaluations_;
  }
  if (plateau_) plateau_->observe(loss);
  hooks.on_evaluation(step_, *metrics);
  return best;
}

template <class T>
std::optional<Metrics> Trainer<T>::evaluate(Split split, TrainerHooks& hooks) const {
  const Averaged<T> averaged(ema_.get());
  Metrics metrics;
  const bool whole = for_each_output(
      *model_, data(split), shape_, config_.train.batch,
      [&](const Tensor<T>& outputs, const Batch& b) { metrics.add(outputs, b, objective_); }, {},
      [&hooks] { return hooks.break_off(); });
  return whole ? std::optional(metrics) : std::nullopt;
}

template <class T>
Metrics Trainer<T>::evaluate(Split split) const {
  TrainerHooks nobody;
  return *evaluate(split, nobody);
}

template <class T>
void Trainer<T>::with_evaluated_weights(const std::function<void()>& f) const {
  const Averaged<T> averaged(ema_.get());
  f();
}

#define XGRAD_INSTANTIATE(T)                                                           \
  template Metrics evaluate(const SequenceModel<T>&, const Dataset&, const TaskShape&, \
                            const Objective&, std::size_t, const Context&);            \
  template class Trainer<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
