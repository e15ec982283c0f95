#include <xgrad/train/ranks/score.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
std::optional<Scores> score(Ranks& ranks, std::size_t shards, const SequenceModel<T>& model,
                            const Pass& pass, const Objective& objective, std::size_t classes) {
  const std::size_t batches = (pass.dataset.size() + pass.batch - 1) / pass.batch;
  std::size_t most = 0;  // batches of a rank
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Range of_rank = share(shards, r, ranks.size());
    std::size_t count = 0;
    for (std::size_t i = of_rank.begin; i < of_rank.end; ++i) {
      count += share(batches, i, shards).size();
    }
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

#define XGRAD_INSTANTIATE(T)                                                                      \
  template std::optional<Scores> score(Ranks&, std::size_t, const SequenceModel<T>&, const Pass&, \
                                       const Objective&, std::size_t);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
