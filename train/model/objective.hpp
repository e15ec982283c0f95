// Objective: the loss that training minimises.
#pragma once

#include <optional>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The loss per target.
enum class Loss { cross_entropy, binary_cross_entropy, mse, mae, huber };

/// A loss with its settings.
struct Objective {
  Loss loss = Loss::cross_entropy;  ///< kind of loss
  double label_smoothing = 0;       ///< for cross_entropy
  double huber_delta = 1;           ///< for huber: error at which it turns from quadratic to linear
  double head_diversity = 0;        ///< weight of the penalty in training_loss()
  NextToken next = NextToken::none;        ///< TaskShape::next
  std::vector<double> class_weights = {};  ///< for cross_entropy; empty: all 1
};

/// The objective of [train] for the targets of a task. Throws ConfigError if the loss does not fit
/// them.
Objective make_objective(const TrainConfig& config, const TaskShape& shape);

/// The same with [train] class_weights: the given weights, or balanced ones, n / (K n_c) for class
/// c of K, with n_c of the n targets in the training data, as scikit-learn's
/// compute_class_weight("balanced"). Also throws ConfigError if the weights do not fit the task's
/// targets, or a class to balance has no target.
/// `train` may be null unless the weights are balanced.
Objective training_objective(const TrainConfig& config, const TaskShape& shape,
                             const Dataset* train);

/// Returns the mean loss of a model's outputs over the counted targets of a batch, weighted by
/// their classes. For part of a logical batch, `normalizer` replaces weight_of_targets() as the
/// divisor of the sum.
template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer = std::nullopt);

/// Sum of the weights of the targets that count: class ids other than kIgnore, or valid numbers.
/// Without class weights, their number.
double weight_of_targets(const Objective& objective, const Batch& batch);

}  // namespace xgrad
