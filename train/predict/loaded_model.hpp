// A trained model, loaded from a run for use.
#pragma once

#include <memory>

#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/state_dict.hpp>

namespace xgrad {

/// A task and its trained model.
template <class T>
struct LoadedModel {
  /// Throws CheckpointError when the weights do not fit.
  explicit LoadedModel(const RunSource& source)
      : task(make_task(source.config, &source.checkpoint)),
        shape(task->shape()),
        parameters(source.config.train.seed),
        model(make_model<T>(source.config.model, shape, parameters)) {
    restore(weights_of(source.checkpoint), parameters);
  }

  std::unique_ptr<Task> task;               ///< what it was trained for
  TaskShape shape;                          ///< of the task
  Parameters<T> parameters;                 ///< the weights
  std::unique_ptr<SequenceModel<T>> model;  ///< to be called
};

/// Calls f, a template of a scalar type T without arguments, with that which the config trains in.
template <class F>
auto with_precision(const Config& config, const F& f) {
  return config.train.precision == "double" ? f.template operator()<double>()
                                            : f.template operator()<float>();
}

}  // namespace xgrad
