// Between a checkpoint's tensors and a model in memory: strictly, and all or nothing.
#pragma once

#include <string>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/ema.hpp>
#include <xgrad/optim/optimizer.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Copies of all parameters, in their order.
template <class T>
std::vector<NamedTensor> capture(const Parameters<T>& parameters);
/// Copies of all state tensors of an optimizer, in their order.
template <class T>
std::vector<NamedTensor> capture(const Optimizer<T>& optimizer);

/// A checkpoint that no run can go on from: the weights, and how they were made. They are the means
/// where the run kept some ([train] ema), unless `raw`.
Checkpoint weights_of(const Checkpoint& checkpoint, bool raw = false);

/// Overwrites every parameter with the checkpoint's. Throws CheckpointError, with nothing changed,
/// that lists every parameter that is missing, unexpected, or of another shape or scalar type.
template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters);

/// The same for the parameters, the optimizer's state tensors and the means, where there are some,
/// together; the optimizer's steps() are not touched.
template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters, Optimizer<T>& optimizer,
             Ema<T>* ema = nullptr);

/// A line of a message where the tensor has a number that T has no finite one for; else nothing.
template <class T>
std::string too_large(const NamedTensor& tensor);

/// Overwrites every parameter with weights that need not be a run's own, as strictly but for the
/// scalar type: float and double become T. `origin` begins the message.
template <class T>
void restore_weights(const std::vector<NamedTensor>& weights, const std::string& origin,
                     const Parameters<T>& parameters);

}  // namespace xgrad
