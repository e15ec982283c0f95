#include <xgrad/train/model/objective.hpp>

#include <algorithm>
#include <iterator>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

struct LossRow {
  const char* name;
  Loss loss;
  TargetKind target;
};

// "auto" stands for the first loss of the task's kind of target.
constexpr LossRow kLosses[] = {
    {"cross_entropy", Loss::cross_entropy, TargetKind::classes},
    {"binary_cross_entropy", Loss::binary_cross_entropy, TargetKind::binary},
    {"mse", Loss::mse, TargetKind::numbers},
    {"mae", Loss::mae, TargetKind::numbers},
    {"huber", Loss::huber, TargetKind::numbers},
};

// Calls f(class) for each target that counts.
template <class F>
void for_each_class(const Ids& targets, const F& f) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets.data()[i] != kIgnore) f(std::size_t(targets.data()[i]));
  }
}

std::vector<double> balanced_weights(const Dataset& train, const TaskShape& shape) {
  std::vector<double> counts(shape.classes, 0.0);
  double all = 0;
  for (std::size_t i = 0; i < train.size(); ++i) {
    for (const std::int32_t target : train.get(0, i).targets) {
      if (target < 0 || std::size_t(target) >= shape.classes) continue;  // the loader refuses those
      counts[std::size_t(target)] += 1;
      all += 1;
    }
  }
  std::vector<double> weights;
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
  const std::vector<double>& weights = config.class_weights;
  if (!config.balanced_classes && weights.empty()) return objective;
  check<ConfigError>(
      shape.target == TargetKind::classes,
      "train.class_weights: are for targets that are classes; those of the task are ",
      to_string(shape.target));
  objective.class_weights = config.balanced_classes ? balanced_weights(*train, shape) : weights;
  check<ConfigError>(objective.class_weights.size() == shape.classes, "train.class_weights: has ",
                     weights.size(), " weights, but the task has ", shape.classes, " classes");
  check<ConfigError>(
      *std::max_element(objective.class_weights.begin(), objective.class_weights.end()) > 0,
      "train.class_weights: all are 0, so there is nothing to minimise");
  return objective;
}

Objective make_objective(const TrainConfig& config, const TaskShape& shape) {
  const auto& [name, loss, target] =
      *std::find_if(std::begin(kLosses), std::end(kLosses), [&](const LossRow& row) {
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
    for_each_class(batch.targets, [&](std::size_t c) { sum += weights.empty() ? 1 : weights[c]; });
    return sum;
  }
  if (!batch.valid) return double(batch.values.size());
  const std::uint8_t* valid = batch.valid->data();
  return double(std::count(valid, valid + batch.valid->size(), 1));
}

#define XGRAD_INSTANTIATE(T)                                                         \
  template Variable<T> mean_loss(const Objective&, const Variable<T>&, const Batch&, \
                                 std::optional<double>);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
