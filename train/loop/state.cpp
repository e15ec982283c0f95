// The state of a trainer besides the weights that it trains: their average, and checkpoints.
#include <span>

#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

// An equal average follows the weights until it has its first ones.
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

// Each rank has the averages of a slice, and the other slices of the weights from the other ranks.
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
    average_->swap();  // no gather: the other ranks may not come to one
    throw;
  }
  swap();
}

template <class T>
std::size_t Trainer<T>::state_numbers() const {
  std::size_t numbers = 0;
  for_each_state([&](const OptimizerState<T>& s) { numbers += size_of(s.shape); });
  return numbers;
}

template <class T>
std::size_t Trainer<T>::checkpoint_bytes() const {
  const std::size_t numbers = parameters_.count() + state_numbers();
  std::size_t tensors = parameters_.size();
  for_each_state([&](const OptimizerState<T>&) { ++tensors; });
  const std::size_t text =
      task_->learned().size() + to_toml(config_, /*with_execution_keys=*/false).size();
  return most_hdf5_bytes(numbers * sizeof(T), tensors, text);
}

template <class T>
std::vector<NamedTensor> Trainer<T>::whole_state(bool everywhere) const {
  if (shards_.ranks().size() == 1) return xgrad::capture(*optimizer_, average_.get());
  std::vector<NamedTensor> whole;
  const auto add = [&](std::span<const OptimizerState<T>> slot) {
    std::vector<Tensor<T>> tensors = shards_.whole(slot, everywhere);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      whole.push_back({slot[k].name, std::move(tensors[k])});
    }
  };
  const std::span<const OptimizerState<T>> state = optimizer_->state();
  for (std::size_t i = 0; i < state.size(); i += shards_.tensors()) {
    add(state.subspan(i, shards_.tensors()));
  }
  if (average_) add(average_->state());
  return whole;
}

template <class T>
Checkpoint Trainer<T>::capture(bool everywhere) const {
  Checkpoint checkpoint;
  checkpoint.parameters = xgrad::capture(parameters_);
  checkpoint.optimizer = whole_state(everywhere);
  progress_.write(config_, checkpoint);
  checkpoint.state["arithmetic"] = arithmetic(config_.train.precision == "bf16");
  if (const std::string learned = task_->learned(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  checkpoint.config = to_toml(config_, /*with_execution_keys=*/false);
  return checkpoint;
}

template <class T>
void Trainer<T>::restore(const Checkpoint& checkpoint) {
  restore(checkpoint, Progress(config_, &checkpoint));
}

template <class T>
void Trainer<T>::restore(const Checkpoint& checkpoint, const Progress& progress) {
  check<CheckpointError>(progress.loader.position < train_->size(), "the checkpoint's position is ",
                         progress.loader.position, ", but the train split has ", train_->size(),
                         " examples");
  // Changes everything or nothing.
  xgrad::restore(checkpoint, parameters_, *optimizer_, average_.get());
  progress_ = progress;
  optimizer_->set_steps(progress.optimizer_steps);
  loader_.restore(progress.loader);
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template void Trainer<T>::update_average();                                           \
  template void Trainer<T>::with_evaluated_weights(const std::function<void()>&) const; \
  template std::size_t Trainer<T>::state_numbers() const;                               \
  template std::size_t Trainer<T>::checkpoint_bytes() const;                            \
  template std::vector<NamedTensor> Trainer<T>::whole_state(bool) const;                \
  template Checkpoint Trainer<T>::capture(bool) const;                                  \
  template void Trainer<T>::restore(const Checkpoint&);                                 \
  template void Trainer<T>::restore(const Checkpoint&, const Progress&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
