// Ensemble: several trained models as one model, which averages their probabilities.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// A model that averages the probabilities of its members, after the softmax for classes and after
/// the sigmoid for yes-or-no targets. If targets are numbers, it averages the members' numbers.
/// When it generates an output (Decoding), each step averages the members' probabilities of the
/// next class, and all members then read the class that was chosen.
///
/// An ensemble is for evaluation only. It has no activations of its own: a call with
/// Context::activations throws Error. Requires: at least one member; all are for the same task.
template <class T>
std::unique_ptr<SequenceModel<T>> make_ensemble(
    TargetKind target, std::vector<std::shared_ptr<const SequenceModel<T>>> members);

/// Throws ConfigError, which names the run and what differs, unless all runs agree in what an
/// ensemble needs: the task and its keys, except names of files; vocabulary, classes, inputs,
/// outputs and scales of numbers; and the scalar type. Reads no data.
void check_ensemble(std::span<const FoundRun> runs);

}  // namespace xgrad
