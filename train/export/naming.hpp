// Weights under the names that other libraries give them.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A model as another library has it.
struct LibraryModel {
  std::vector<NamedTensor> parameters;  ///< for load_state_dict(strict=True)
  std::string constructor;              ///< Python that makes the model they belong to
};

/// "timm", "torchvision" and "hf-bert".
const std::vector<std::string>& library_names();

/// The weights of a model under a library's names and in its shapes: packed projections cut where
/// it has three, patches as the kernels of a convolution, zeros for biases that it insists on.
///
/// Throws ConfigError that lists all in which the model differs from the library's.
LibraryModel to_library(const std::string& library, const Config& config, const TaskShape& shape,
                        const std::vector<NamedTensor>& parameters);

namespace detail {

/// How a library's model is told from ours. See naming_libraries.cpp.
struct Library {
  std::string name, model;
  /// What of a config and a task has no place there.
  std::vector<std::string> (*differences)(const Config&, const TaskShape&);
  /// Parts of our names and of theirs, replaced in this order.
  std::vector<std::pair<std::string, std::string>> words;
  bool needs_qkv_bias = false;
  bool as_bert = false;  ///< query, key and value apart, and a table of one type of tokens
  std::string (*constructor)(const Config&, const TaskShape&);
};
const std::vector<Library>& libraries();

}  // namespace detail

}  // namespace xgrad
