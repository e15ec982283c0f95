// Progress: one list of all state of a run besides tensors.
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

namespace {

struct Entry {
  std::string name;
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
  return {
      {true,
       {{"epoch", &p.loader.epoch},
        {"position", &p.loader.position},
        {"optimizer_steps", &p.optimizer_steps}},
       /*required=*/true},
      // Absent after a change of train.best_metric, because then no step is the best yet.
      {true, {{"best_" + config.train.best_metric, &p.best_value}, {"best_step", &p.best_step}}},
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
void read(const Checkpoint& checkpoint, const std::string& name, Value& place) {
  const Stored<Value> value = state_value<Stored<Value>>(checkpoint, name);
  check<CheckpointError>(std::is_same_v<Value, double> || value >= 0, "the checkpoint's ", name,
                         " is ", value, ", must be at least 0");
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

bool Progress::observe(double loss, const Figure& figure) {
  owes_validation = false;
  plateau.observe(loss);
  const double value = figure.value;
  const bool better = figure.higher_is_better ? value > best_value : value < best_value;
  const bool best = is_finite_bits(value) && (better || best_step == 0);
  bad_evaluations = best ? 0 : bad_evaluations + 1;
  if (!best) return false;
  best_value = value;
  best_step = step;
  return true;
}

bool Progress::is_fatal(const std::string& on_spike, bool lasting) {
  if (on_spike == "stop" || (lasting && on_spike == "skip")) return true;
  return ++failures_in_a_row > 10;
}

}  // namespace xgrad
