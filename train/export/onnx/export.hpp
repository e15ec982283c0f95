// Exports a trained model as one ONNX file.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Returns the model of a config with these weights as ONNX, opset 17, in float32. Its inputs and
/// outputs are
///
///     ids (batch, length) int64 and mask (batch, length) bool, true for a token; or
///     vectors (batch, length, features) and mask; or image (batch, H, W, C);
///     for model.mask = "adjacency" adjacency (batch, length, length) bool;
///     for an encoder_decoder decoder_ids (batch, outputs) int64, begin_id and the outputs so far
///     -> logits (batch, length, classes), (batch, classes) or (batch, outputs, classes)
///
/// for any batch and length. Weights are initializers under their own names. The metadata holds
/// config, xgrad_version and step; if the task has them, labels, vocabulary, value_mean and
/// value_deviation, one entry per line; and for an encoder_decoder begin_id and end_id.
///
/// Throws ConfigError, which lists the unsupported settings of [model]; CheckpointError if weights
/// are missing or left over; NumericError if a weight is NaN or infinite in float32.
std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights);

}  // namespace xgrad
