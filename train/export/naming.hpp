// Converts weights to the names and shapes of other libraries.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A model in the form of another library.
struct LibraryModel {
  std::vector<NamedTensor> parameters;  ///< weights for load_state_dict(strict=True)
  std::string constructor;              ///< Python code that constructs the model for these weights
};

/// The known libraries: "timm", "torchvision" and "hf-bert".
const std::vector<std::string>& library_names();

/// Converts the weights of a model to a library's names and shapes: splits packed projections where
/// the library has three, reshapes patch embeddings to convolution kernels, and adds zeros for
/// biases that the library requires.
///
/// Throws ConfigError, which lists all differences between this model and the library's.
LibraryModel to_library(const std::string& library, const Config& config, const TaskShape& shape,
                        const std::vector<NamedTensor>& parameters);

}  // namespace xgrad
