// TrainingLoss: what a step minimises of a batch, penalties included.
#pragma once

#include <vector>

#include <xgrad/layers/model.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// What the micro-batches of a step are parts of.
struct LogicalBatch {
  double targets = 0;   ///< that count
  double examples = 0;  ///< rows
};

/// The sizes of the micro-batches together.
LogicalBatch together(const std::vector<Batch>& batches);

/// What a micro-batch adds to the loss of its step; `task + weight * penalty` is minimised.
template <class T>
struct TrainingLoss {
  Variable<T> outputs;    ///< of the model
  Variable<T> task;       ///< sum of the task's losses, divided by the targets of the whole
  Variable<T> penalty;    ///< see training_loss(); undefined where its weight is 0
  Variable<T> minimised;  ///< both
};

/// Runs the model in training on a micro-batch of `whole`.
///
/// With Objective::head_diversity the penalty is the mean over the examples of `whole`, over the L
/// self-attentions of the encoder and over the H (H - 1) ordered pairs of heads, of
///
///     cos^2(A_g, A_h) = <A_g, A_h>^2 / (|A_g|^2 |A_h|^2)
///
/// of the maps A (N, M) before dropout, without rows of padding (S2.14, Lin et al. 2017): a
/// micro-batch adds the part of its own examples. Throws ShapeError where the model has none.
template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const ModelInput<T>& input, const Batch& batch, Context context,
                              const LogicalBatch& whole);

}  // namespace xgrad
