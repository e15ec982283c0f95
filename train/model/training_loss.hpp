// TrainingLoss: the loss that a step minimises, penalties included.
#pragma once

#include <functional>
#include <vector>

#include <xgrad/data/shard.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// Total size of the micro-batches of a step.
struct StepSize {
  double targets = 0;   ///< weight_of_targets(): without class weights, their number
  double examples = 0;  ///< number of examples
};

/// Adds up the sizes of the micro-batches.
StepSize step_size(const Objective& objective, const std::vector<Batch>& batches);

/// The contribution of a micro-batch to the loss of its step, `task + weight * penalty`.
template <class T>
struct TrainingLoss {
  Variable<T> outputs;    ///< outputs of the model
  Variable<T> task;       ///< sum of the task's losses, divided by StepSize::targets
  Variable<T> penalty;    ///< see training_loss(); undefined if its weight is 0
  Variable<T> minimised;  ///< task + weight * penalty
};

/// Runs the model in training mode on a micro-batch of `whole`.
///
/// With Objective::head_diversity the penalty is the mean, over the examples of `whole`, over the L
/// attentions, those of a decoder among them, and over the H (H - 1) ordered pairs of heads, of
///
///     cos^2(A_g, A_h) = <A_g, A_h>^2 / (|A_g|^2 |A_h|^2)
///
/// where A (N, M) are the attention maps before dropout, without rows of padding (S2.14, Lin et al.
/// 2017). A micro-batch adds the part of its own examples. Throws ShapeError if the model has no
/// attention.
template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const Batch& batch, Context context, const StepSize& whole);

/// Number of steps of a run on a training split of this many examples.
std::uint64_t planned_steps(const TrainConfig& config, std::size_t examples);

/// The context of the step after `step` steps of a run of `steps`: Context::train(), with dropout
/// rates times the factor that changes linearly from train.dropout_start in the first step to
/// train.dropout_end in the last.
Context training_context(const TrainConfig& config, std::uint64_t step, std::uint64_t steps);

/// Called with the loss of each micro-batch.
template <class T>
using SeeLoss = std::function<void(const TrainingLoss<T>&, const Batch&)>;

/// Runs forward and backward of a training step: adds the gradients of all its micro-batches to the
/// gradients of the parameters, and calls see(loss, batch) after each micro-batch. `context` is the
/// context of the first micro-batch.
///
/// Of several shards, runs the part of each micro-batch that belongs to `shard`, as cut() makes it
/// for a task with this kind of output. The loss is still divided by the targets of the whole step,
/// so the gradients of all shards add up to those of the step.
template <class T>
void forward_backward(const SequenceModel<T>& model, const Objective& objective,
                      const std::vector<Batch>& batches, Context context,
                      const SeeLoss<T>& see = {}, const Shard& shard = {},
                      OutputKind output = OutputKind::tokens);

}  // namespace xgrad
