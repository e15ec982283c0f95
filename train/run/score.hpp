// Scores of a trained model on a split, by all ranks together.
#pragma once

#include <functional>
#include <string>

#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/metrics/class_report.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Loss, metrics and counts of each class.
struct Scores {
  Metrics metrics;      ///< over all examples of the split
  ClassReport classes;  ///< without classes if a table of them would be unreadable
};

/// The split of this name: the reverse of to_string(). Requires: it is one of the three.
Split split_of(const std::string& name);

/// Evaluates a model on a split. As in training, the batches of a split are cut into `train.shards`
/// parts, each rank does some of them, and the sums of the parts are added in their order. So any
/// number of ranks gives the bits that training gave. Calls progress(done, total) with the examples
/// of this rank.
template <class T>
Scores score(Ranks& ranks, const FoundRun& source, const LoadedModel<T>& loaded, Split split,
             const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace xgrad
