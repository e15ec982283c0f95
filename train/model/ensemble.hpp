// Ensemble: trained models as one model, whose probabilities are the mean of theirs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// A model whose probabilities are the arithmetic mean of those of the members: after the softmax
/// for classes, after the sigmoid for yes-or-no targets. Numbers are the mean of the members'
/// numbers. In a Decoding, all members read the same classes so far, and each step has the mean of
/// their probabilities of the next class.
///
/// It is for evaluation. It has no activations: a context that observes them throws Error.
/// Requires: at least one member; all are for the same task.
template <class T>
std::unique_ptr<SequenceModel<T>> make_ensemble(
    TargetKind target, std::vector<std::shared_ptr<const SequenceModel<T>>> members);

/// Throws ConfigError, which names the run and what differs, unless the models of all runs answer
/// the same questions: they need the first one's task with its keys except files, vocabulary,
/// classes, inputs, outputs, scales of numbers, and scalar type. Reads no data.
void check_ensemble(std::span<const FoundRun> runs);

}  // namespace xgrad
