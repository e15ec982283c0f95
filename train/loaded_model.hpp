// A trained model, loaded from a run for use.
#pragma once

#include <memory>

#include <xgrad/train/build.hpp>
#include <xgrad/train/run_source.hpp>
#include <xgrad/train/state_dict.hpp>

namespace xgrad {

template <class T>
struct LoadedModel {
  explicit LoadedModel(const RunSource& source)
      : task(make_task(source.config, &source.checkpoint)),
        shape(task->shape()),
        parameters(source.config.train.seed),
        model(make_model<T>(source.config.model, shape, parameters)) {
    restore(weights_of(source.checkpoint), parameters);
  }

  std::unique_ptr<Task> task;
  TaskShape shape;
  Parameters<T> parameters;
  std::unique_ptr<SequenceModel<T>> model;
};

/// Calls f.template operator()<T>() with the scalar type that the config trains in.
template <class F>
auto with_precision(const Config& config, const F& f) {
  return config.train.precision == "double" ? f.template operator()<double>()
                                            : f.template operator()<float>();
}

}  // namespace xgrad
