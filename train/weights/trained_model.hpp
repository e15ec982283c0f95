// TrainedModel: the model of a run with its weights, in the run's arithmetic.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

/// A trained model with scalar type T in the arithmetic of the run's train.precision, whose weights
/// are packed for its products.
template <class T>
struct TrainedModel {
  /// Makes the model of `config` for a task of this shape, with the checkpoint's weights converted
  /// to T. Throws CheckpointError, with a message that starts with `origin`, if they do not fit.
  TrainedModel(const Config& config, const Checkpoint& checkpoint, TaskShape of_task,
               const std::string& origin = "the checkpoint")
      : shape(std::move(of_task)),
        parameters(config.train.seed),
        model(make_model<T>(config, shape, parameters)) {
    restore_weights(weights_of(checkpoint).parameters, origin, parameters);
    pack_weights(parameters);
  }

  TaskShape shape;                          ///< shape of the task
  Parameters<T> parameters;                 ///< the weights
  std::unique_ptr<SequenceModel<T>> model;  ///< the model
};

}  // namespace xgrad
