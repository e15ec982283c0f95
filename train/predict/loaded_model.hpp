// LoadedModel: a trained model, loaded from a run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

/// find_run() with another train.precision; empty: that of the run.
inline FoundRun find_run_in(const std::string& precision, const std::string& path) {
  std::vector<std::string> overrides;
  if (!precision.empty()) overrides.push_back("train.precision=" + precision);
  return find_run(path, overrides);
}

/// A trained model with its task.
template <class T>
struct LoadedModel : TrainedModel<T> {
  /// Loads the model of a run, with weights converted to T. Throws CheckpointError if they do not
  /// fit.
  explicit LoadedModel(const FoundRun& source)
      : LoadedModel(source, make_task(source.config, &source.checkpoint)) {}
  /// Loads the model of a run whose task was made before.
  LoadedModel(const FoundRun& source, std::unique_ptr<Task> made)
      : TrainedModel<T>(source.config, source.checkpoint, made->shape(), source.file),
        task(std::move(made)) {}

  std::unique_ptr<Task> task;  ///< the task that the model was trained for
};

}  // namespace xgrad
