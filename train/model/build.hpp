// From a config to its objects: task and model.
#pragma once

#include <memory>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The task of [task], seeded with train.seed; with what it learned from its data, where a
/// checkpoint keeps that. Throws ConfigError, DataError, CheckpointError.
std::unique_ptr<Task> make_task(const Config& config, const Checkpoint* checkpoint = nullptr);

/// The model of [model] for a task of this shape. Throws ConfigError where the two do not fit.
template <class T>
std::unique_ptr<SequenceModel<T>> make_model(const ModelConfig& config, const TaskShape& shape,
                                             Parameters<T>& parameters);

/// A batch as the model reads it; keeps what had to be converted.
template <class T>
class BatchInput {
 public:
  /// Requires: the batch outlives it.
  explicit BatchInput(const Batch& batch);
  BatchInput(const BatchInput&) = delete;
  /// What a model is called with.
  const ModelInput<T>& input() const { return input_; }

 private:
  Tensor<T> features_;
  ModelInput<T> input_;
};

}  // namespace xgrad
