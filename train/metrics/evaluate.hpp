// Evaluation of a model on a whole data set.
#pragma once

#include <functional>

#include <xgrad/autograd/range.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

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
template <class T>
bool for_each_output(const SequenceModel<T>& model, const Pass& pass,
                     const std::function<void(const Tensor<T>&, const Batch&)>& see);

/// Returns loss and metrics over all batches.
template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Pass& pass, const Objective& objective);

}  // namespace xgrad
