// LoadedModel: a trained model, loaded from a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/autograd/packed_weights.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/model/mixed_precision.hpp>
#include <xgrad/train/weights/state_dict.hpp>

namespace xgrad {

/// find_run() with another train.precision; empty: that of the run.
inline FoundRun find_run_in(const std::string& precision, const std::string& path) {
  std::vector<std::string> overrides;
  if (!precision.empty()) overrides.push_back("train.precision=" + precision);
  return find_run(path, overrides);
}

/// A task and its trained model with scalar type T, whose weights are packed for its products.
template <class T>
struct LoadedModel {
  /// Loads the model of a run. Throws CheckpointError if the weights do not fit.
  explicit LoadedModel(const FoundRun& source)
      : LoadedModel(source, make_task(source.config, &source.checkpoint)) {}
  /// Loads the model of a run whose task was made before.
  LoadedModel(const FoundRun& source, std::unique_ptr<Task> made)
      : task(std::move(made)),
        shape(task->shape()),
        parameters(source.config.train.seed),
        model(make_model<T>(source.config, shape, parameters)) {
    restore(weights_of(source.checkpoint), parameters);
    pack_weights(parameters);
  }

  std::unique_ptr<Task> task;               ///< the task that the model was trained for
  TaskShape shape;                          ///< shape of the task
  Parameters<T> parameters;                 ///< the weights
  std::unique_ptr<SequenceModel<T>> model;  ///< the model
};

}  // namespace xgrad
