// Exports of trained models for other programs: to ONNX, and with the names of other libraries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The settings of [model] that an exporter supports: keys with their allowed values, which are
/// words, or "true", "false" and numbers as in TOML. An empty list allows any value. For other
/// settings, an exporter throws an error that names them.
using KnownModel = std::map<std::string, std::vector<std::string>>;

/// Settings that train/export/check_npz.py supports. The lists of other exporters start from these.
KnownModel plain_encoder();
/// Settings that to_onnx() and explain_html() support.
KnownModel known_to_onnx();

/// Returns the unsupported settings of a config, such as `model.norm = "post"`: keys in `known`
/// with a value that is not allowed, and keys not in `known` that differ from their defaults.
std::vector<std::string> unknown_settings(const Config& config, const KnownModel& known);

/// Returns the model of a config with these weights as ONNX, opset 17, in float32. Its inputs and
/// outputs are
///
///     ids (batch, length) int64 and mask (batch, length) bool, true for a token; or
///     vectors (batch, length, features) and mask; or image (batch, H, W, C);
///     with model.mask = "adjacency" also adjacency (batch, length, length) bool;
///     in an encoder_decoder also decoder_ids (batch, outputs) int64: begin_id, outputs so far
///     -> logits (batch, length, classes), (batch, classes) or (batch, outputs, classes)
///
/// for any batch and length. Weights are initializers under their own names. The metadata holds
/// config, xgrad_version and step. If the task has them, it also holds labels, vocabulary,
/// value_mean and value_deviation, one entry per line. For an encoder_decoder, it holds begin_id
/// and end_id.
///
/// Throws ConfigError, which lists the unsupported settings of [model]; CheckpointError if weights
/// are missing or left over; NumericError if a weight is NaN or infinite in float32.
std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights);

/// A model in the form of another library.
struct LibraryModel {
  std::vector<NamedTensor> parameters;  ///< weights for load_state_dict(strict=True)
  std::string constructor;              ///< Python code that constructs the model for these weights
};

/// The known libraries: "timm", "torchvision" and "hf-bert".
std::vector<std::string> library_names();

/// Converts the weights of a model to a library's names and shapes: splits packed projections where
/// the library has three tensors, reshapes patch embeddings to convolution kernels, and adds zeros
/// for biases that the library requires.
///
/// Throws ConfigError, which lists all differences between this model and the library's.
LibraryModel to_library(const std::string& library, const Config& config, const TaskShape& shape,
                        const std::vector<NamedTensor>& parameters);

}  // namespace xgrad
