// What is not finite is neither written nor read.
#pragma once

#include <string>

#include <xgrad/train/checkpoint.hpp>

namespace xgrad {

/// Throws Exception, NumericError or CheckpointError, that names the first entry which is infinite
/// or not a number.
template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor);

}  // namespace xgrad
