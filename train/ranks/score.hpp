// Scores of a model on a split, by all ranks together.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Loss, metrics and counts of each class.
struct Scores {
  Metrics metrics;      ///< loss and metrics of the split
  ClassReport classes;  ///< counts of each class; an empty report if score() counts no classes
};

/// Evaluates a model. The batches of `pass` are divided into `shards` parts, and the ranks share
/// the parts. Sums are added in the order of the parts, so the bits do not depend on the number of
/// ranks. All ranks call pass.break_off() the same number of times, because they must agree on its
/// answer. Returns nothing if pass.break_off() ended the pass early. `classes` is the number of
/// classes to count in Scores::classes; 0: counts none.
template <class T>
std::optional<Scores> score(Ranks& ranks, std::size_t shards, const SequenceModel<T>& model,
                            const Pass& pass, const Objective& objective, std::size_t classes = 0) {
  const std::size_t batches = (pass.dataset.size() + pass.batch - 1) / pass.batch;
  std::size_t most = 0;  // batches of a rank
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Range own = share(shards, r, ranks.size());
    std::size_t count = 0;
    for (std::size_t i = own.begin; i < own.end; ++i) count += share(batches, i, shards).size();
    most = std::max(most, count);
  }
  std::size_t asked = 0;
  bool broken = false;
  Pass part = pass;
  part.break_off = [&] {
    ++asked;
    return broken = pass.break_off && pass.break_off();
  };
  std::vector<Metrics> metrics;
  std::vector<ClassReport> reports;
  const Range own = share(shards, ranks.rank(), ranks.size());
  for (std::size_t i = own.begin; i < own.end && !broken; ++i) {
    Metrics& sums = metrics.emplace_back();
    ClassReport& report = reports.emplace_back(classes);
    part.batches = share(batches, i, shards);
    for_each_output<T>(model, part, [&](const Tensor<T>& outputs, const Batch& batch) {
      sums.add(outputs, batch, objective);
      if (classes > 0) report.add(outputs, batch);
    });
  }
  while (asked < most && !broken) part.break_off();
  if (broken) return std::nullopt;
  return Scores{add_up(ranks, metrics), add_up(ranks, reports)};
}

}  // namespace xgrad
