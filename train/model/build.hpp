// Builds the task and the model of a config.
#pragma once

#include <memory>
#include <string>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Makes the task of [task], seeded with train.seed. For model.kind = "encoder_decoder", converts
/// it by generated_task(). If the checkpoint stores facts about the data, such as a vocabulary, the
/// task takes them from the checkpoint. Throws ConfigError, DataError, CheckpointError.
std::unique_ptr<Task> make_task(const Config& config, const Checkpoint* checkpoint = nullptr);

/// Makes the model of [model] for a task of this shape, in the precision train.precision, and
/// freezes the parameters that optim.groups freeze. With "bf16", a model of float runs under an
/// Autocast: the operands of its matrix products are rounded to bfloat16 and their sums are in
/// float. Weights and losses are float. Requires: T is the type that with_precision() gives, or a
/// wider type (to compute a reference). Throws ConfigError if model and task do not fit.
template <class T>
std::unique_ptr<SequenceModel<T>> make_model(const Config& config, const TaskShape& shape,
                                             Parameters<T>& parameters);

/// The arithmetic of the processor that computed a checkpoint (see cpu.hpp), such as "fma-1"; empty
/// if the checkpoint does not say.
std::string arithmetic_of(const Checkpoint& checkpoint);

/// A batch in the form that models read. Owns the tensors that had to be converted.
template <class T>
class BatchInput {
 public:
  explicit BatchInput(const Batch& batch);  ///< requires: `batch` outlives this object
  BatchInput(const BatchInput&) = delete;
  const ModelInput<T>& input() const { return input_; }  ///< the argument of the model's call

 private:
  Tensor<T> features_;
  ModelInput<T> input_;
};

}  // namespace xgrad
