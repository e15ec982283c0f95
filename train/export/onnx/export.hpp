// A trained model as one ONNX file.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The model of a config with these weights, as opset 17 in float32:
///
///     ids (batch, length) int64 and mask (batch, length) bool, true for a token; or
///     vectors (batch, length, features) and mask; or image (batch, H, W, C);
///     for model.mask = "adjacency" adjacency (batch, length, length) bool;
///     for an encoder_decoder decoder_ids (batch, outputs) int64, begin_id and what was written
///     -> logits (batch, length, classes), (batch, classes) or (batch, outputs, classes)
///
/// for any batch and length. Weights are initializers under their own names. As metadata: config,
/// xgrad_version, step; where the task has them labels, vocabulary, value_mean and
/// value_deviation, one a line; of an encoder_decoder begin_id and end_id.
///
/// Throws ConfigError that lists the settings of [model] which it has no form for; CheckpointError
/// when weights are missing or left over; NumericError when one is not finite in float32.
std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights);

}  // namespace xgrad
