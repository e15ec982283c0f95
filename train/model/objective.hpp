// Objective: the loss that training minimises.
#pragma once

#include <optional>

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
  NextToken next = NextToken::none;  ///< TaskShape::next
};

/// The objective of [train] for the targets of a task. Throws ConfigError if the loss does not fit
/// them.
Objective make_objective(const TrainConfig& config, const TaskShape& shape);

/// Returns the mean loss of a model's outputs over the counted targets of a batch. For part of a
/// logical batch, `normalizer` replaces the number of targets as the divisor of the sum.
template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer = std::nullopt);

/// Number of targets that count: class ids other than kIgnore, or valid numbers.
std::size_t count_targets(const Batch& batch);

}  // namespace xgrad
