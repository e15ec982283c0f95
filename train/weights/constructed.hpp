// Encoders with weights set by hand instead of trained (docs/constructed-encoders.md).
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

class WrittenWeights;

/// An encoder that solves a task, with weights from a paper.
struct ConstructedEncoder {
  std::string name;  ///< name of the encoder and of its task
  std::string help;  ///< what its weights do, in one sentence
  std::string task;  ///< the keys of [task] in TOML
  /// Returns the settings of the model for a task of this shape.
  ModelConfig (*model)(const TaskShape& shape);
  /// Sets the weights that are not 0.
  void (*write)(const TaskShape& shape, WrittenWeights& weights);
};

/// All constructed encoders, in alphabetical order.
const std::vector<ConstructedEncoder>& constructed_encoders();
/// Returns the encoder of this name. Throws ConfigError that lists the known names.
const ConstructedEncoder& find_constructed_encoder(const std::string& name);

/// [model] init_from with this prefix names a constructed encoder instead of a file.
inline constexpr const char* kConstructed = "constructed:";

/// Returns the weights of an encoder for a model and a task. Throws ConfigError if the encoder is
/// for another kind of task, or needs other settings of the model; the message lists its settings.
std::vector<NamedTensor> constructed_weights(const ConstructedEncoder& encoder,
                                             const ModelConfig& model, const TaskShape& shape);

/// Adds normal noise with this standard deviation. `seed` and a tensor's name determine its noise.
void add_noise(std::vector<NamedTensor>& weights, double deviation, std::uint64_t seed);

/// Returns a checkpoint of step 0 that holds the encoder, in double precision, with noise of this
/// standard deviation. `overrides` set train.seed and keys of the task, as in "task.length=100".
/// Throws ConfigError for other keys and wrong values.
Checkpoint construct(const ConstructedEncoder& encoder, const std::vector<std::string>& overrides,
                     double noise = 0);

}  // namespace xgrad
