// Partial initialization: takes the weights that fit a model and lists the others.
#pragma once

#include <string>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Names of ids, indexed by id; empty if unknown.
struct IdNames {
  std::vector<std::string> tokens = {};   ///< names of input tokens
  std::vector<std::string> classes = {};  ///< names of output classes
};

/// The outcome for each parameter and each tensor of the file.
struct PartialFit {
  std::vector<std::string> taken = {};    ///< parameters taken from the file
  std::vector<std::string> missing = {};  ///< parameters missing in the file
  std::vector<std::string> misfits = {};  ///< parameters that do not fit, each with the reason
  std::vector<std::string> unused = {};   ///< tensors of the file that the model does not have
  std::size_t numbers = 0;                ///< number of scalars taken
};

/// Returns a line for each list with its length and names.
std::vector<std::string> lines_of(const PartialFit& fit);

/// Overwrites the parameters for which `weights` has a tensor of the same shape, converting float
/// and double to T. Leaves the others unchanged.
///
/// If both `theirs` and `ours` are known, ids may differ. Then embedding.token.weight takes the
/// rows of the words that both have, and a head for other classes does not fit. Throws
/// CheckpointError, which starts with `origin`, and changes nothing if no tensor fits or a number
/// is too large for T.
template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const IdNames& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const IdNames& ours);

}  // namespace xgrad
