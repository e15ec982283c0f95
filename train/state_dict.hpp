// Between a checkpoint's tensors and a model in memory: strictly, and all or nothing.
#pragma once

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizer.hpp>
#include <xgrad/train/checkpoint.hpp>

namespace xgrad {

/// Copies of all parameters, or of all state tensors of an optimizer, in their order.
template <class T>
std::vector<NamedTensor> capture(const Parameters<T>& parameters);
template <class T>
std::vector<NamedTensor> capture(const Optimizer<T>& optimizer);

/// Overwrites every parameter with the checkpoint's. Throws CheckpointError, with nothing changed,
/// that lists every parameter that is missing, unexpected, or of another shape or scalar type.
template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters);

/// The same for the parameters and the optimizer's state tensors together; its steps() are not
/// touched.
template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters,
             Optimizer<T>& optimizer);

/// Overwrites every parameter with weights that need not be a run's own, as strictly but for the
/// scalar type: float and double become T. `origin` begins the message.
template <class T>
void restore_weights(const std::vector<NamedTensor>& weights, const std::string& origin,
                     const Parameters<T>& parameters);

}  // namespace xgrad
