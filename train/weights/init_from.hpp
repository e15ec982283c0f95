// [model] init_from: initial weights from a file, either all weights or only the weights that fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Lists the parameters that restore_fitting() took from a file, and what it left out.
struct PartialFit {
  std::vector<std::string> taken = {};    ///< parameters taken from the file
  std::vector<std::string> missing = {};  ///< parameters missing in the file
  std::vector<std::string> misfits = {};  ///< parameters that do not fit, each with the reason
  std::vector<std::string> unused = {};   ///< tensors of the file that the model does not have
  std::size_t numbers = 0;                ///< number of scalars taken
};

/// Returns a line for each of the four lists: its length and names.
std::vector<std::string> lines_of(const PartialFit& fit);

/// Overwrites each parameter with the tensor in `weights` that has the same name and shape,
/// converted to T. Leaves parameters without such a tensor unchanged. There are two exceptions:
///
/// Token ids may differ between the models if both `theirs` and `ours` know the names of tokens.
/// Then embedding.token.weight takes the rows of the tokens that both models have. A head does not
/// fit if its classes have other names. Throws CheckpointError, which starts with `origin`, and
/// changes nothing if no tensor fits or a number is too large for T.
template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const TaskShape& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const TaskShape& ours);

/// The weights that a model took from a file.
struct Initialization {
  std::string file;                        ///< path of the file, or constructed:NAME
  std::string sha256;                      ///< SHA-256 of the file, 64 hexadecimal digits
  std::size_t tensors = 0;                 ///< number of tensors taken
  std::size_t numbers = 0;                 ///< number of scalars in them
  bool converted = false;                  ///< whether some were converted from another precision
  std::optional<PartialFit> partial = {};  ///< without init_strict: result of restore_fitting()
};

/// Overwrites a model's parameters with weights, converted to the model's type, and adds the noise
/// of init_noise. [model] init_from names their source: a safetensors file, an npz archive, a
/// checkpoint or a constructed encoder. Throws IoError. Throws CheckpointError, with nothing
/// changed, if the file is in another format, is damaged or does not fit. If it does not fit, the
/// message lists every parameter that is missing, unexpected or of another shape. Without
/// init_strict, takes only the weights that fit, as restore_fitting() does. If the file is a
/// checkpoint, uses the token names that it stores.
template <class T>
Initialization initialize(const Config& config, const TaskShape& shape,
                          const Parameters<T>& parameters);

}  // namespace xgrad
