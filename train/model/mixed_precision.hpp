// Models in mixed precision.
#pragma once

#include <memory>
#include <string>

#include <xgrad/layers/model.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// The model in the arithmetic of `precision`, a value of train.precision. With "bf16", a model of
/// float runs below a Autocast: the operands of its matrix products are rounded to bfloat16 and
/// their sums are in float. Its weights, and losses of its logits, are float. Any other value, and
/// any other scalar type than float, leaves the model as it is.
template <class T>
std::unique_ptr<SequenceModel<T>> in_precision(const std::string& precision,
                                               std::unique_ptr<SequenceModel<T>> model);

/// The arithmetic that a checkpoint's run computed in (see cpu.hpp); empty if it does not say.
std::string arithmetic_of(const Checkpoint& checkpoint);

}  // namespace xgrad
