// Evaluation of a model on a whole data set.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

/// Some examples of a data set, which must outlive it.
class Subset final : public Dataset {
 public:
  /// Those with these indices.
  Subset(const Dataset& all, std::vector<std::size_t> chosen)
      : all_(all), chosen_(std::move(chosen)) {}
  /// The first `count`, or all if there are fewer.
  Subset(const Dataset& all, std::size_t count) : all_(all), chosen_(std::min(count, all.size())) {
    std::iota(chosen_.begin(), chosen_.end(), std::size_t(0));
  }

  std::size_t size() const override { return chosen_.size(); }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    return all_.get(epoch, chosen_[index]);
  }

 private:
  const Dataset& all_;
  std::vector<std::size_t> chosen_;
};

/// Settings of one pass over a data set, in order and without dropout.
struct Pass {
  const Dataset& dataset;                ///< the examples
  const TaskShape& shape;                ///< shape of the task
  std::size_t batch;                     ///< batch size
  Context context = {};                  ///< context of the model's calls
  std::function<bool()> break_off = {};  ///< asked before each batch whether to stop early
  Range batches = {0, std::size_t(-1)};  ///< which batches; those that there are
};

/// Calls see(outputs, batch) for every batch. Returns false if `break_off` ended the pass early.
template <class T, class See>
bool for_each_output(const SequenceModel<T>& model, const Pass& pass, const See& see) {
  const NoGrad no_grad;
  Loader loader(pass.dataset, pass.shape, {.batch = pass.batch});
  const std::size_t end = std::min(pass.batches.end, loader.batches_per_epoch());
  if (pass.batches.begin > 0 && pass.batches.begin < end) {
    loader.restore({.position = pass.batches.begin * pass.batch});
  }
  for (std::size_t i = pass.batches.begin; i < end; ++i) {
    if (pass.break_off && pass.break_off()) return false;
    const Batch batch = loader.next();
    see(model(BatchInput<T>(batch).input(), pass.context).value(), batch);
  }
  return true;
}

/// Returns loss and metrics over all batches.
template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Pass& pass, const Objective& objective) {
  Metrics metrics;
  for_each_output(model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
    metrics.add(outputs, batch, objective);
  });
  return metrics;
}

}  // namespace xgrad
