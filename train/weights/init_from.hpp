// [model] init_from: initial weights from a file.
#pragma once

#include <optional>
#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/weights/partial.hpp>

namespace xgrad {

/// The weights that a model took from a file.
struct Initialization {
  std::string file;                        ///< path of the file, or constructed:NAME
  std::string sha256;                      ///< SHA-256 of the file, 64 hexadecimal digits
  std::size_t tensors = 0;                 ///< number of tensors taken
  std::size_t numbers = 0;                 ///< number of scalars in them
  bool converted = false;                  ///< whether some were converted from another precision
  std::optional<PartialFit> partial = {};  ///< without init_strict: the outcome for each tensor
};

/// Overwrites a model's parameters with the weights in the safetensors file, npz archive or
/// checkpoint that [model] init_from names, or with those of the constructed encoder that it names.
/// Converts float and double to the model's type. Before that it adds the noise of init_noise, as
/// add_noise() does with [train] seed.
///
/// Throws IoError; CheckpointError, with nothing changed, if the file is in another format, is
/// damaged or does not fit. The message then lists every parameter that is missing, unexpected or
/// of another shape. Without init_strict it takes the weights that fit, as restore_fitting() does.
/// The checkpoint of a task with its own vocabulary provides the names of its ids.
template <class T>
Initialization initialize(const Config& config, const TaskShape& shape,
                          const Parameters<T>& parameters);

}  // namespace xgrad
