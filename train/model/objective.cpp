#include <xgrad/train/model/objective.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

struct LossRow {
  Loss loss;
  TargetKind target;
};

// "auto" stands for the first loss of the task's kind of target.
const std::vector<std::pair<std::string, LossRow>>& losses() {
  static const std::vector<std::pair<std::string, LossRow>> rows = {
      {"cross_entropy", {Loss::cross_entropy, TargetKind::classes}},
      {"binary_cross_entropy", {Loss::binary_cross_entropy, TargetKind::binary}},
      {"mse", {Loss::mse, TargetKind::numbers}},
      {"mae", {Loss::mae, TargetKind::numbers}},
      {"huber", {Loss::huber, TargetKind::numbers}},
  };
  return rows;
}

}  // namespace

Objective make_objective(const TrainConfig& config, const TaskShape& shape) {
  const auto fits = [&](const auto& row) {
    return config.loss == "auto" ? row.second.target == shape.target : row.first == config.loss;
  };
  const auto& [name, row] = *std::find_if(losses().begin(), losses().end(), fits);
  check<ConfigError>(row.target == shape.target, "train.loss: ", name, " is for targets that are ",
                     to_string(row.target), "; those of the task are ", to_string(shape.target));
  check<ConfigError>(config.label_smoothing == 0 || row.loss == Loss::cross_entropy,
                     "train.label_smoothing: needs the loss cross_entropy, not ", name);
  return {row.loss, config.label_smoothing, config.huber_delta, config.head_diversity, shape.next};
}

template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer) {
  if (objective.loss == Loss::cross_entropy) {
    return cross_entropy(outputs, batch.targets,
                         {kIgnore, objective.label_smoothing, {}, normalizer});
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

std::size_t count_targets(const Batch& batch) {
  if (batch.targets.dimension() > 0) {
    const std::int32_t* targets = batch.targets.data();
    return batch.targets.size() -
           std::size_t(std::count(targets, targets + batch.targets.size(), kIgnore));
  }
  if (!batch.valid) return batch.values.size();
  const std::uint8_t* valid = batch.valid->data();
  return std::size_t(std::count(valid, valid + batch.valid->size(), 1));
}

#define XGRAD_INSTANTIATE(T)                                                         \
  template Variable<T> mean_loss(const Objective&, const Variable<T>&, const Batch&, \
                                 std::optional<double>);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
