// A trained model as one ONNX file.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint.hpp>
#include <xgrad/train/config.hpp>

namespace xgrad {

/// The model of a config with these weights, as opset 17 in float32:
///
///     ids (batch, length) int64 and mask (batch, length) bool, true for a token; or
///     vectors (batch, length, features) and mask; or image (batch, H, W, C)
///     -> logits (batch, length, classes) or (batch, classes)
///
/// for any batch and length. Weights are initializers under their own names. As metadata: config,
/// xgrad_version, step, and where the task names them labels and vocabulary, one a line.
///
/// Throws ConfigError that lists the settings of [model] which it has no form for; CheckpointError
/// when weights are missing or left over; NumericError when one is not finite in float32.
std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights);

}  // namespace xgrad
