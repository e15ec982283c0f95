// Copies tensors between a checkpoint and a model or an optimizer. All tensors must fit; if one
// does not, nothing is copied.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Returns copies of all parameters, in order.
template <class T>
std::vector<NamedTensor> capture(const Parameters<T>& parameters);

/// Returns a checkpoint with copies of the parameters, the optimizer's state and, if given, the
/// averaged weights. restore() is its inverse. With several processes, each process has only a part
/// of the state tensors. `whole` returns the whole tensors; none in a process that does not save.
template <class T>
Checkpoint capture(
    const Parameters<T>& parameters, const Optimizer<T>& optimizer,
    const AveragedWeights<T>* average,
    const std::function<std::vector<Tensor<T>>(std::span<const OptimizerState<T>>)>& whole);

/// Returns a checkpoint with only the weights, step, config and what the task learned. Averaged
/// weights ([train] ema or swa_start) replace the weights unless `raw`.
Checkpoint weights_of(const Checkpoint& checkpoint, bool raw = false);

/// Overwrites every parameter with weights of any origin, converted to T. If a parameter is
/// missing, unexpected, of another shape or too large for T, changes nothing and throws
/// CheckpointError, which starts with `origin` and lists all such parameters.
template <class T>
void restore_weights(const std::vector<NamedTensor>& weights, const std::string& origin,
                     const Parameters<T>& parameters);

/// Overwrites the parameters, the optimizer's state except steps() and, if given, the averaged
/// weights with the values in a run's checkpoint. Throws as restore_weights(), and also if the
/// checkpoint has another scalar type than T.
template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters, Optimizer<T>& optimizer,
             AveragedWeights<T>* average = nullptr);

/// Writes a checkpoint with only these parameters. Replaces a file of that name atomically: a crash
/// leaves either the old file or the new one. Throws IoError, and NumericError for NaN or infinity.
template <class T>
void save_checkpoint(const std::string& path, const Parameters<T>& parameters);
/// Overwrites every parameter with its value in the checkpoint at `path`. Throws the errors of
/// load_checkpoint(path) (checkpoint.hpp) and of restore_weights().
template <class T>
void load_checkpoint(const std::string& path, const Parameters<T>& parameters);

/// Returns a line for an error message if a number exceeds the range of T; else an empty text.
template <class T>
std::string too_large(const NamedTensor& tensor);

}  // namespace xgrad
