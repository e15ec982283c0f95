// Weights that fit a model in part: what fits is taken, and the rest is told.
#pragma once

#include <string>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// What ids stand for, one name an id; empty where it is not known.
struct IdNames {
  std::vector<std::string> tokens = {};   ///< of the input
  std::vector<std::string> classes = {};  ///< of the output
};

/// What became of each parameter and of each tensor.
struct PartialFit {
  std::vector<std::string> taken = {};    ///< parameters that have values of the file now
  std::vector<std::string> missing = {};  ///< parameters that the file lacks
  std::vector<std::string> misfits = {};  ///< those that differ, each with what the two have
  std::vector<std::string> unused = {};   ///< tensors that the model lacks
  std::size_t numbers = 0;                ///< that were taken
};

/// A line for each list: how many, and their names.
std::vector<std::string> lines_of(const PartialFit& fit);

/// Overwrites the parameters that `weights` have in the same shape; the others stay as they are.
/// float and double become T.
///
/// Where both `theirs` and `ours` are known, ids may differ: then embedding.token.weight takes the
/// rows of the words that both have, and a head for other classes is a misfit. `origin` begins the
/// message of a CheckpointError, with nothing changed: when nothing fits, or a number is too large
/// for T.
template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const IdNames& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const IdNames& ours);

}  // namespace xgrad
