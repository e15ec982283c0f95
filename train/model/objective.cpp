#include <xgrad/train/model/objective.hpp>

#include <algorithm>
#include <iterator>
#include <span>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/layers/attention/metrics.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// "auto" is the first loss in this table that fits the task's kind of target.
constexpr struct LossRow {
  const char* name;
  Loss loss;
  TargetKind target;
} kLosses[] = {
    {"cross_entropy", Loss::cross_entropy, TargetKind::classes},
    {"binary_cross_entropy", Loss::binary_cross_entropy, TargetKind::binary},
    {"mse", Loss::mse, TargetKind::numbers},
    {"mae", Loss::mae, TargetKind::numbers},
    {"huber", Loss::huber, TargetKind::numbers},
};

std::vector<double> balanced_weights(const Dataset& train, const TaskShape& shape) {
  std::vector<double> counts(shape.classes, 0.0), weights;
  double all = 0;
  for (std::size_t i = 0; i < train.size(); ++i) {
    for (const std::int32_t target : train.get(0, i).targets) {
      if (target < 0 || std::size_t(target) >= shape.classes)
        continue;  // the loader refuses such ids
      counts[std::size_t(target)] += 1;
      all += 1;
    }
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    check<ConfigError>(counts[c] > 0, "train.class_weights: balanced weights need a training ",
                       "target of each class, and there is none of class ",
                       shape.class_names.empty() ? std::to_string(c) : shape.class_names[c]);
    weights.push_back(all / (double(counts.size()) * counts[c]));
  }
  return weights;
}

}  // namespace

Objective training_objective(const TrainConfig& config, const TaskShape& shape,
                             const Dataset* train) {
  Objective objective = make_objective(config, shape);
  std::vector<double>& weights = objective.class_weights = config.class_weights;
  if (!config.balanced_classes && weights.empty()) return objective;
  check<ConfigError>(shape.target == TargetKind::classes,
                     "train.class_weights: needs targets that are classes; those of the task are ",
                     to_string(shape.target));
  if (config.balanced_classes) weights = balanced_weights(*train, shape);
  check<ConfigError>(weights.size() == shape.classes, "train.class_weights: has ", weights.size(),
                     " weights, but the task has ", shape.classes, " classes");
  check<ConfigError>(*std::ranges::max_element(weights) > 0,
                     "train.class_weights: all are 0, so there is nothing to minimise");
  return objective;
}

Objective make_objective(const TrainConfig& config, const TaskShape& shape) {
  const auto& [name, loss, target] = *std::ranges::find_if(kLosses, [&](const LossRow& row) {
    return config.loss == "auto" ? row.target == shape.target : row.name == config.loss;
  });
  check<ConfigError>(target == shape.target, "train.loss: ", name, " is for targets that are ",
                     to_string(target), "; those of the task are ", to_string(shape.target));
  check<ConfigError>(config.label_smoothing == 0 || loss == Loss::cross_entropy,
                     "train.label_smoothing: needs the loss cross_entropy, not ", name);
  return {loss, config.label_smoothing, config.huber_delta, config.head_diversity, shape.next};
}

template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer) {
  if (objective.loss == Loss::cross_entropy) {
    return cross_entropy(outputs, batch.targets,
                         {kIgnore, objective.label_smoothing, objective.class_weights, normalizer});
  }
  const Variable<T> values(cast<T>(batch.values));
  const LossOptions options{batch.valid, normalizer};
  switch (objective.loss) {
    case Loss::binary_cross_entropy:
      return binary_cross_entropy_with_logits(outputs, values, options);
    case Loss::mae:
      return l1_loss(outputs, values, options);
    case Loss::huber:
      return huber_loss(outputs, values, objective.huber_delta, options);
    default:
      return mse_loss(outputs, values, options);
  }
}

double weight_of_targets(const Objective& objective, const Batch& batch) {
  if (batch.targets.dimension() > 0) {
    const std::vector<double>& weights = objective.class_weights;
    double sum = 0;
    for (const std::int32_t c : std::span(batch.targets.data(), batch.targets.size())) {
      if (c != kIgnore) sum += weights.empty() ? 1 : weights[std::size_t(c)];
    }
    return sum;
  }
  if (!batch.valid) return double(batch.values.size());
  return double(std::count(batch.valid->data(), batch.valid->data() + batch.valid->size(), 1));
}

StepSize step_size(const Objective& objective, const std::vector<Batch>& batches) {
  StepSize whole;
  for (const Batch& batch : batches) {
    whole.targets += weight_of_targets(objective, batch);
    whole.examples += double(batch.size);
  }
  return whole;
}

std::uint64_t planned_steps(const TrainConfig& config, std::size_t examples) {
  if (config.steps > 0) return config.steps;
  const std::uint64_t batches = (examples + config.batch - 1) / config.batch * config.epochs;
  return (batches + config.accumulate - 1) / config.accumulate;
}

Context training_context(const TrainConfig& config, std::uint64_t step, std::uint64_t steps) {
  const double done = steps > 1 ? std::min(1.0, double(step) / double(steps - 1)) : 0;
  Context context = Context::train(config.seed, step);
  context.dropout_scale = config.dropout_start + (config.dropout_end - config.dropout_start) * done;
  return context;
}

template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const Batch& batch, Context context, const StepSize& whole) {
  HeadDiversity<T> heads;
  const bool penalised = objective.head_diversity > 0;
  if (penalised) context.activations = &heads;
  TrainingLoss<T> loss;
  {
    const Region region("model");
    loss.outputs = model(BatchInput<T>(batch).input(), context);
  }
  const Region region("loss");
  loss.task = mean_loss(objective, loss.outputs, batch, whole.targets);
  loss.minimised = loss.task;
  if (!penalised) return loss;
  loss.penalty = scale(heads.mean(), T(double(batch.size) / whole.examples));
  loss.minimised = add(loss.task, scale(loss.penalty, T(objective.head_diversity)));
  return loss;
}

template <class T>
void forward_backward(const SequenceModel<T>& model, const Objective& objective,
                      const std::vector<Batch>& batches, Context context, const SeeLoss<T>& see,
                      const Shard& shard, OutputKind output) {
  const StepSize whole = step_size(objective, batches);
  std::size_t first_sample = context.first_sample;
  for (const Batch& all : batches) {
    const Range rows = share(all.size, shard.index, shard.count);
    context.first_sample = std::uint32_t(first_sample + rows.begin);
    first_sample += all.size;
    if (rows.size() == 0) continue;
    const Batch part = shard.count > 1 ? cut(all, shard, output) : Batch();
    const Batch& batch = shard.count > 1 ? part : all;
    const TrainingLoss<T> loss = training_loss(model, objective, batch, context, whole);
    {
      const Region region("backward");
      loss.minimised.backward();
    }
    if (see) see(loss, batch);
  }
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template Variable<T> mean_loss(const Objective&, const Variable<T>&, const Batch&,              \
                                 std::optional<double>);                                          \
  template TrainingLoss<T> training_loss(const SequenceModel<T>&, const Objective&, const Batch&, \
                                         Context, const StepSize&);                               \
  template void forward_backward(const SequenceModel<T>&, const Objective&,                       \
                                 const std::vector<Batch>&, Context, const SeeLoss<T>&,           \
                                 const Shard&, OutputKind);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
