// What a trainer saves of a run, and takes up again.
#include <xgrad/autograd/cpu.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/weights/state_dict.hpp>

namespace xgrad {

template <class T>
std::size_t Trainer<T>::state_numbers() const {
  std::size_t numbers = 0;
  for (const OptimizerState<T>& s : optimizer_->state()) numbers += s.tensor.size();
  if (!ema_) return numbers;
  for (const OptimizerState<T>& s : ema_->state()) numbers += s.tensor.size();
  return numbers;
}

template <class T>
std::size_t Trainer<T>::checkpoint_bytes() const {
  const std::size_t numbers = parameters_.count() + state_numbers();
  const std::size_t tensors =
      parameters_.size() + optimizer_->state().size() + (ema_ ? ema_->state().size() : 0);
  const std::size_t text =
      task_->learned().size() + to_toml(config_, /*with_execution_keys=*/false).size();
  return most_hdf5_bytes(numbers * sizeof(T), tensors, text);
}

template <class T>
Checkpoint Trainer<T>::capture() const {
  Checkpoint checkpoint;
  checkpoint.step = step_;
  checkpoint.parameters = xgrad::capture(parameters_);
  checkpoint.optimizer = xgrad::capture(*optimizer_);
  const LoaderState loader = loader_.state();
  checkpoint.state = {{"epoch", std::int64_t(loader.epoch)},
                      {"position", std::int64_t(loader.position)},
                      {"optimizer_steps", std::int64_t(optimizer_->steps())},
                      {"best_step", std::int64_t(best_step_)},
                      {"best_loss", best_loss_},
                      {"cpu", cpu_name(cpu())}};
  if (ema_) {
    for (const OptimizerState<T>& s : ema_->state()) {
      checkpoint.optimizer.push_back({s.name, s.tensor});
    }
  }
  if (spikes_.watches()) {
    checkpoint.state["spike_mean"] = spikes_.state().mean;
    checkpoint.state["spike_count"] = std::int64_t(spikes_.state().count);
  }
  if (config_.train.on_spike == "skip") {
    checkpoint.state["spikes_in_a_row"] = std::int64_t(spikes_in_a_row_);
  }
  if (config_.train.patience > 0) {
    checkpoint.state["bad_evaluations"] = std::int64_t(bad_evaluations_);
  }
  if (owes_validation_) checkpoint.state[kOwesValidation] = std::int64_t(1);
  if (plateau_) {
    const Plateau::State& plateau = plateau_->state();
    checkpoint.state["plateau_factor"] = plateau.factor;
    checkpoint.state["plateau_best"] = plateau.best;
    checkpoint.state["plateau_bad"] = std::int64_t(plateau.bad);
  }
  if (const std::string learned = task_->learned(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  checkpoint.config = to_toml(config_, /*with_execution_keys=*/false);
  return checkpoint;
}

template <class T>
void Trainer<T>::restore(const Checkpoint& checkpoint) {
  const auto integer = [&](const std::string& name) {
    const std::int64_t value = state_value<std::int64_t>(checkpoint, name);
    check<CheckpointError>(value >= 0, "the checkpoint's ", name, " is ", value);
    return std::uint64_t(value);
  };
  const LoaderState loader{integer("epoch"), integer("position")};
  const std::uint64_t optimizer_steps = integer("optimizer_steps"),
                      best_step = integer("best_step");
  const double best_loss = state_value<double>(checkpoint, "best_loss");
  // A run that is resumed with these allowed to change has none of them yet.
  const auto has = [&](const char* name) { return checkpoint.state.contains(name); };
  const std::uint64_t bad_evaluations = has("bad_evaluations") ? integer("bad_evaluations") : 0;
  const std::uint64_t in_a_row = has("spikes_in_a_row") ? integer("spikes_in_a_row") : 0;
  SpikeGuard::State spikes;
  if (has("spike_mean")) {
    spikes = {state_value<double>(checkpoint, "spike_mean"), integer("spike_count")};
  }
  Plateau::State plateau;
  if (has("plateau_factor")) {
    plateau = {state_value<double>(checkpoint, "plateau_factor"),
               state_value<double>(checkpoint, "plateau_best"), integer("plateau_bad")};
  }
  check<CheckpointError>(loader.position < train_->size(), "the checkpoint's position is ",
                         loader.position, ", but there are ", train_->size(), " examples");
  xgrad::restore(checkpoint, parameters_, *optimizer_, ema_.get());  // all or nothing
  if (plateau_) plateau_->restore(plateau);
  bad_evaluations_ = bad_evaluations;
  owes_validation_ = has(kOwesValidation);
  spikes_.restore(spikes);
  spikes_in_a_row_ = in_a_row;
  optimizer_->set_steps(optimizer_steps);
  loader_.restore(loader);
  best_step_ = best_step;
  best_loss_ = best_loss;
  step_ = checkpoint.step;
}

#define XGRAD_INSTANTIATE(T)                                 \
  template std::size_t Trainer<T>::state_numbers() const;    \
  template std::size_t Trainer<T>::checkpoint_bytes() const; \
  template Checkpoint Trainer<T>::capture() const;           \
  template void Trainer<T>::restore(const Checkpoint&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
