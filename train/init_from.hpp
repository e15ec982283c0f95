// [model] init_from: a model that starts from weights in a file instead of random ones.
#pragma once

#include <string>

#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// What a file gave a model.
struct Initialization {
  std::string file;         ///< its path
  std::string sha256;       ///< of the file, 64 hexadecimal digits
  std::size_t tensors = 0;  ///< that it gave
  std::size_t numbers = 0;  ///< in them
  bool converted = false;   ///< some from another precision
};

/// Overwrites every parameter with the weights in a safetensors file, an npz archive or a
/// checkpoint; float and double become the model's own type.
///
/// Throws IoError; and CheckpointError, with nothing changed, when the file is none, is damaged, or
/// does not fit: then every parameter that is missing, unexpected or of another shape is listed.
template <class T>
Initialization initialize(const std::string& path, const Parameters<T>& parameters);

}  // namespace xgrad
