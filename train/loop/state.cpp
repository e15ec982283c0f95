// The state of a trainer besides the weights that it trains: its progress, the average of weights,
// and checkpoints.
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/mixed_precision.hpp>

namespace xgrad {

namespace {

struct Entry {
  const char* name;
  std::variant<std::uint64_t*, double*, bool*> place;
};

// Entries that a checkpoint contains together or not at all.
struct Part {
  bool written;
  std::vector<Entry> entries;
  bool required = false;
};

std::vector<Part> parts(Progress& p, const Config& config) {
  Plateau::State& plateau = p.plateau.state();
  SpikeGuard::State& spikes = p.spikes.state();
  return {{true,
           {{"epoch", &p.loader.epoch},
            {"position", &p.loader.position},
            {"optimizer_steps", &p.optimizer_steps},
            {"best_step", &p.best_step},
            {"best_loss", &p.best_loss}},
           /*required=*/true},
          {p.owes_validation, {{kOwesValidation, &p.owes_validation}}},
          {config.train.patience > 0, {{"bad_evaluations", &p.bad_evaluations}}},
          {config.train.on_spike == "skip", {{"failures_in_a_row", &p.failures_in_a_row}}},
          {config.train.swa_start > 0, {{"averaged", &p.averaged}}},
          {config.train.curriculum_start > 0, {{"batches", &p.loader.batches}}},
          {p.spikes.watches(), {{"spike_mean", &spikes.mean}, {"spike_count", &spikes.count}}},
          {config.schedule.name == "plateau",
           {{"plateau_factor", &plateau.factor},
            {"plateau_best", &plateau.best},
            {"plateau_bad", &plateau.bad}}}};
}

// Floating-point numbers are stored as double, counts and flags as int64.
template <class Value>
using Stored = std::conditional_t<std::is_same_v<Value, double>, double, std::int64_t>;

template <class Value>
void read(const Checkpoint& checkpoint, const char* name, Value& place) {
  const Stored<Value> value = state_value<Stored<Value>>(checkpoint, name);
  const bool good = std::is_same_v<Value, double> || value >= 0;
  check<CheckpointError>(good, "the checkpoint's ", name, " is ", value, ", must be at least 0");
  place = Value(value);
}

}  // namespace

Progress::Progress(const Config& config, const Checkpoint* checkpoint)
    : plateau(config.schedule.gamma, config.schedule.patience, config.schedule.final),
      spikes(config.train.spike) {
  if (checkpoint == nullptr) return;
  step = checkpoint->step;
  for (const Part& part : parts(*this, config)) {
    if (!part.required && !checkpoint->state.contains(part.entries.front().name)) continue;
    for (const Entry& entry : part.entries) {
      std::visit([&](auto* place) { read(*checkpoint, entry.name, *place); }, entry.place);
    }
  }
}

void Progress::write(const Config& config, Checkpoint& checkpoint) const {
  checkpoint.step = step;
  Progress copy = *this;
  for (const Part& part : parts(copy, config)) {
    if (!part.written) continue;
    for (const Entry& entry : part.entries) {
      StateValue& stored = checkpoint.state[entry.name];
      std::visit([&]<class Value>(const Value* p) { stored = Stored<Value>(*p); }, entry.place);
    }
  }
}

bool Progress::observe(double loss) {
  owes_validation = false;
  plateau.observe(loss);
  const bool best = loss < best_loss;
  bad_evaluations = best ? 0 : bad_evaluations + 1;
  if (!best) return false;
  best_loss = loss;
  best_step = step;
  return true;
}

bool Progress::is_fatal(const std::string& on_spike, bool lasting) {
  if (on_spike == "stop" || (lasting && on_spike == "skip")) return true;
  return ++failures_in_a_row > 10;
}

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
  checkpoint.state["cpu"] = processor_class(config_.train.precision);
  if (const std::string learned = task_->learned(); !learned.empty()) {
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

#define XGRAD_INSTANTIATE(T)                                                            \
  template void Trainer<T>::update_average();                                           \
  template void Trainer<T>::with_evaluated_weights(const std::function<void()>&) const; \
  template std::size_t Trainer<T>::checkpoint_bytes() const;                            \
  template std::vector<NamedTensor> Trainer<T>::whole_state(bool) const;                \
  template Checkpoint Trainer<T>::capture(bool) const;                                  \
  template void Trainer<T>::restore(const Checkpoint&, const Progress&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
