#include <xgrad/train/diagnose/replay.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

namespace {

template <class T>
struct Seen {
  OpPlace place;
  Tensor<T> tensor;
};

// Reads the training data only if a setting depends on them.
std::pair<Objective, Context> settings_of(const Config& config, const Task& task,
                                          std::uint64_t step) {
  const TrainConfig& train = config.train;
  const bool counts_steps = train.epochs > 0 && train.dropout_start != train.dropout_end;
  std::unique_ptr<Dataset> data;
  if (train.balanced_classes || counts_steps) data = task.dataset(Split::train);
  const std::uint64_t steps = planned_steps(train, data ? data->size() : 0);
  return {training_objective(train, task.shape(), data.get()),
          training_context(train, step, steps)};
}

// Returns every output and gradient of the step, in order.
template <class T>
std::vector<Seen<T>> run(const Checkpoint& failed, const Config& config) {
  const std::unique_ptr<Task> task = make_task(config, &failed);
  const TaskShape shape = task->shape();
  Parameters<T> parameters(config.train.seed);
  const auto model = make_model<T>(config, shape, parameters);
  restore_weights(failed.parameters, "the failed step", parameters);

  std::vector<Seen<T>> seen;
  const Trace<T> trace(parameters, [&](const OpPlace& place, const Tensor<T>& x) {
    seen.push_back({place, x});
  });
  const std::vector<Batch> batches = batches_of(failed);
  const auto [objective, context] = settings_of(config, *task, failed.step);
  for (std::size_t i = 0; i < config.train.shards; ++i) {
    forward_backward<T>(*model, objective, batches, context, {}, {i, config.train.shards},
                        shape.output);
  }
  return seen;
}

template <class T, class U>
ReplayRow compare(const Seen<T>& x, const Seen<U>& reference) {
  check<CheckpointError>(x.tensor.shape() == reference.tensor.shape(), to_string(x.place),
                         " has shape ", x.tensor.shape(), ", the reference has ",
                         reference.tensor.shape());
  ReplayRow row{.place = x.place, .shape = x.tensor.shape()};
  const auto fault = first_not_finite(x.tensor), other = first_not_finite(reference.tensor);
  row.finite = !fault;
  row.reference_finite = !other;
  double worst = 0;
  for (std::size_t i = 0; i < x.tensor.size(); ++i) {
    const double r = double(reference.tensor.data()[i]);
    const double d = std::abs(double(x.tensor.data()[i]) - r);
    row.largest = std::max(row.largest, std::abs(r));
    if (d > worst) {
      worst = d;
      row.worst = i;
    }
  }
  row.difference = worst == 0 ? 0 : worst / std::max(row.largest, 1e-30);
  if (fault || other) row.worst = fault ? *fault : *other;
  return row;
}

// Compares the step in T with the step in the next higher precision.
template <class T>
std::vector<ReplayRow> compare_runs(const Checkpoint& failed, const Config& config) {
  using Reference = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const std::vector<Seen<T>> seen = run<T>(failed, config);
  const std::vector<Seen<Reference>> reference = run<Reference>(failed, config);
  check<CheckpointError>(seen.size() == reference.size(), "the step makes ", seen.size(),
                         " tensors, the reference has ", reference.size());
  std::vector<ReplayRow> rows;
  for (std::size_t i = 0; i < seen.size(); ++i) rows.push_back(compare(seen[i], reference[i]));
  return rows;
}

}  // namespace

std::vector<ReplayRow> replay(const Checkpoint& failed) {
  const Config config =
      parse_config(failed.config, "the failed step's config", {}, ConfigWriter::xgrad);
  return with_precision(config, [&]<class T>() { return compare_runs<T>(failed, config); });
}

}  // namespace xgrad
