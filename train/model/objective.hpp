// Objective: the loss that training minimises; TrainingLoss: its value for a micro-batch, penalties
// included.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The loss per target.
enum class Loss { cross_entropy, binary_cross_entropy, mse, mae, huber };

/// A loss with its settings.
struct Objective {
  Loss loss = Loss::cross_entropy;         ///< kind of loss
  double label_smoothing = 0;              ///< for cross_entropy
  double huber_delta = 1;                  ///< for huber: error at which the loss turns linear
  double head_diversity = 0;               ///< weight of the penalty in training_loss()
  NextToken next = NextToken::none;        ///< TaskShape::next
  std::vector<double> class_weights = {};  ///< for cross_entropy; empty: all 1
};

/// The objective of [train] for a task. Throws ConfigError if the loss does not fit the targets.
Objective make_objective(const TrainConfig& config, const TaskShape& shape);

/// The objective of make_objective() with [train] class_weights. Balanced weights are n / (K n_c)
/// for class c of K, where n_c of the n targets of `train` are of class c, as in scikit-learn's
/// compute_class_weight("balanced"). Also throws ConfigError if the weights do not fit the targets,
/// or if an n_c of balanced weights is 0. If the weights are not balanced, `train` may be null.
Objective training_objective(const TrainConfig& config, const TaskShape& shape,
                             const Dataset* train);

/// The mean loss of a model's outputs over the targets of a batch, with the class weights. Leaves
/// out class ids equal to kIgnore, and numbers that are not Batch::valid. If the batch is only a
/// part of a larger one, pass weight_of_targets() of the larger batch as the divisor, `normalizer`.
template <class T>
Variable<T> mean_loss(const Objective& objective, const Variable<T>& outputs, const Batch& batch,
                      std::optional<double> normalizer = std::nullopt);

/// Sum of the weights of the targets that count: class ids other than kIgnore, or valid numbers.
/// Without class weights: the number of these targets.
double weight_of_targets(const Objective& objective, const Batch& batch);

/// Sums over all micro-batches of a step.
struct StepSize {
  double targets = 0;   ///< weight_of_targets(): without class weights, the number of targets
  double examples = 0;  ///< number of examples
};

/// Adds up the sizes of the micro-batches of a step.
StepSize step_size(const Objective& objective, const std::vector<Batch>& batches);

/// A micro-batch's part of the loss of its step; `weight` means Objective::head_diversity.
template <class T>
struct TrainingLoss {
  Variable<T> outputs;    ///< outputs of the model
  Variable<T> task;       ///< sum of the losses of the targets, divided by StepSize::targets
  Variable<T> penalty;    ///< see training_loss(); an undefined Variable if the weight is 0
  Variable<T> minimised;  ///< task + weight * penalty
};

/// Runs the model with `context` on `batch`, a micro-batch of a step of the size `whole`.
///
/// With Objective::head_diversity > 0, the penalty is the mean of
///
///     cos^2(A_g, A_h) = <A_g, A_h>^2 / (|A_g|^2 |A_h|^2)
///
/// over the examples of the step, all attention modules (a decoder's, too), and the H (H - 1)
/// ordered pairs of heads g and h. A (N, M) is the attention map of a head before dropout, without
/// rows of padding (Lin et al. 2017). TrainingLoss::penalty is the part of this mean that the
/// examples of `batch` contribute. Throws ShapeError if the model has no attention.
template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const Batch& batch, Context context, const StepSize& whole);

/// Number of steps of a run on a training split of this many examples.
std::uint64_t planned_steps(const TrainConfig& config, std::size_t examples);

/// The context of a training step: Context::train(), with all dropout rates multiplied by a factor
/// that changes linearly from train.dropout_start in the first step to train.dropout_end in the
/// last. `step` is the number of steps already taken, `steps` the number of steps of the run.
Context training_context(const TrainConfig& config, std::uint64_t step, std::uint64_t steps);

/// Called with the loss of each micro-batch.
template <class T>
using SeeLoss = std::function<void(const TrainingLoss<T>&, const Batch&)>;

/// Runs forward and backward of a training step: adds the gradients of all its micro-batches to the
/// gradients of the parameters, and calls see(loss, batch) after each micro-batch. first_sample in
/// `context` is for the first micro-batch. With several shards, runs only the examples of `shard`
/// in each micro-batch; `output` is the task's kind of output. The loss is still divided by the
/// targets of the whole step, so the gradients of all shards add up to the gradients of the step.
template <class T>
void forward_backward(const SequenceModel<T>& model, const Objective& objective,
                      const std::vector<Batch>& batches, Context context,
                      const SeeLoss<T>& see = {}, const Shard& shard = {},
                      OutputKind output = OutputKind::tokens);

}  // namespace xgrad
