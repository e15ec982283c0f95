// Models in mixed precision.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/train/model/build.hpp>

namespace xgrad {

/// The model in the arithmetic of `precision`, a value of train.precision. With "bf16", a model of
/// float runs below a Bf16Products: the operands of its matrix products are rounded to bfloat16 and
/// their sums are in float. Its weights, and losses of its logits, are float. Any other value, and
/// any other scalar type than float, leaves the model as it is.
template <class T>
std::unique_ptr<SequenceModel<T>> in_precision(const std::string& precision,
                                               std::unique_ptr<SequenceModel<T>> model);

/// The class of processors that gives a run in `precision` these bits: cpu(), but avx512 for
/// avx512_bf16 and amx if no product is of bfloat16.
const char* processor_class(const std::string& precision);

/// make_model() of build.hpp in the arithmetic of train.precision. Requires: T is the type that
/// with_precision() gives, or one for a reference.
template <class T>
std::unique_ptr<SequenceModel<T>> make_model(const Config& config, const TaskShape& shape,
                                             Parameters<T>& parameters,
                                             const std::vector<ParameterGroup>& groups = {}) {
  return in_precision(config.train.precision,
                      make_model<T>(config.model, shape, parameters, groups));
}

}  // namespace xgrad
