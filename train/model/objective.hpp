// Objective: what a training minimises.
#pragma once

#include <optional>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// What of outputs and targets is averaged.
enum class Loss { cross_entropy, binary_cross_entropy, mse, mae, huber };

/// What is minimised, with what it is set to.
struct Objective {
  Loss loss = Loss::cross_entropy;  ///< the kind
  double label_smoothing = 0;       ///< of cross_entropy
  double huber_delta = 1;           ///< where huber turns from square to line
  double head_diversity = 0;        ///< weight of the penalty of training_loss()
};

/// That of [train] for the targets of a task. Throws ConfigError where they do not fit.
Objective make_objective(const TrainConfig& config, const TaskShape& shape);

/// The mean loss of a model's outputs over the targets of a batch that count; `normalizer` divides
/// the sum instead of their number, for a part of a logical batch.
template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer = std::nullopt);

/// Targets that count: classes, or numbers one by one.
std::size_t count_targets(const Batch& batch);

}  // namespace xgrad
