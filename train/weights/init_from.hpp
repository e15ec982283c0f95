// [model] init_from: a model that starts from weights in a file instead of random ones.
#pragma once

#include <optional>
#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/weights/partial.hpp>

namespace xgrad {

/// What a file gave a model.
struct Initialization {
  std::string file;                        ///< its path
  std::string sha256;                      ///< of the file, 64 hexadecimal digits
  std::size_t tensors = 0;                 ///< that it gave
  std::size_t numbers = 0;                 ///< in them
  bool converted = false;                  ///< some from another precision
  std::optional<PartialFit> partial = {};  ///< where it need not give all: what became of each
};

/// Overwrites the parameters of a model for a task of this shape with the weights in the
/// safetensors file, npz archive or checkpoint that init_from names; float and double become the
/// model's own type.
///
/// Throws IoError; and CheckpointError, with nothing changed, when the file is none, is damaged, or
/// does not fit: then every parameter that is missing, unexpected or of another shape is listed.
/// Without init_strict it takes what fits, as restore_fitting() does: a checkpoint of a task that
/// learned its words tells what ids stand for.
template <class T>
Initialization initialize(const ModelConfig& config, const TaskShape& shape,
                          const Parameters<T>& parameters);

}  // namespace xgrad
