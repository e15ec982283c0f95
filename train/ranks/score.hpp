// Scores of a model on a split, by all ranks together.
#pragma once

#include <optional>

#include <xgrad/train/metrics/evaluate.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Loss, metrics and counts of each class.
struct Scores {
  Metrics metrics;      ///< loss and metrics of the split
  ClassReport classes;  ///< counts of each class; without classes if none were asked for
};

/// Evaluates a model. The batches of `pass` are cut into `shards` parts, each rank does some of
/// them, and the sums of the parts are added in their order, so the bits do not depend on the
/// number of ranks. All ranks ask pass.break_off() equally often, so that they can agree on the
/// answer; returns nothing if it ended the pass early. `classes` is the number of classes to
/// count.
template <class T>
std::optional<Scores> score(Ranks& ranks, std::size_t shards, const SequenceModel<T>& model,
                            const Pass& pass, const Objective& objective, std::size_t classes = 0);

}  // namespace xgrad
