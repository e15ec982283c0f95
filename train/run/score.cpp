#include <xgrad/train/run/score.hpp>

#include <algorithm>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/metrics/evaluate.hpp>
#include <xgrad/train/model/parts.hpp>
#include <xgrad/train/ranks/metrics_sum.hpp>

namespace xgrad {

namespace {

// A table of more classes than this is unreadable.
constexpr std::size_t kMostClasses = 20;

std::size_t tabled_classes(const TaskShape& shape) {
  const bool tabled = shape.target != TargetKind::numbers && shape.classes <= kMostClasses;
  return tabled ? shape.classes : 0;
}

}  // namespace

Split split_of(const std::string& name) {
  for (const Split split : {Split::train, Split::validation}) {
    if (name == to_string(split)) return split;
  }
  return Split::test;
}

template <class T>
Scores score(Ranks& ranks, const FoundRun& source, const LoadedModel<T>& loaded, Split split,
             const std::function<void(std::size_t done, std::size_t total)>& progress) {
  const TrainConfig& config = source.config.train;
  const Objective objective = make_objective(config, loaded.shape);
  const auto dataset = loaded.task->dataset(split);
  const std::size_t batches = (dataset->size() + config.batch - 1) / config.batch;
  const Range shards = share(config.shards, ranks.rank(), ranks.size());
  const auto first_example = [&](std::size_t shard) {
    const std::size_t batch =
        shard == config.shards ? batches : share(batches, shard, config.shards).begin;
    return std::min(batch * config.batch, dataset->size());
  };
  const std::size_t total = first_example(shards.end) - first_example(shards.begin);
  const std::size_t classes = tabled_classes(loaded.shape);
  std::size_t done = 0;
  std::vector<Metrics> metrics;
  std::vector<ClassReport> reports;
  for (std::size_t shard = shards.begin; shard < shards.end; ++shard) {
    Metrics& sums = metrics.emplace_back();
    ClassReport& report = reports.emplace_back(classes);
    const Pass pass{*dataset, loaded.shape, config.batch,
                    {},       {},           share(batches, shard, config.shards)};
    for_each_output<T>(*loaded.model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
      sums.add(outputs, batch, objective);
      progress(done += batch.size, total);
      if (classes == 0) return;
      loaded.shape.target == TargetKind::binary ? report.add_answers(outputs, batch)
                                                : report.add(outputs, batch.targets);
    });
  }
  Scores scores{add_up(ranks, metrics), ClassReport(classes)};
  scores.classes = add_up(ranks, reports, scores.classes);
  return scores;
}

#define XGRAD_INSTANTIATE(T)                                                   \
  template Scores score(Ranks&, const FoundRun&, const LoadedModel<T>&, Split, \
                        const std::function<void(std::size_t, std::size_t)>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
