// Activation patching: which activations carry what one input has and another lacks.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>

namespace xgrad {

/// How much of the difference between the answers to two inputs each activation brings back, after
/// Meng et al. 2022.
struct Patching {
  std::size_t output = 0;          ///< position of the output that is compared
  std::string from;                ///< answer to the input `from`
  std::string to;                  ///< answer to the input `to`
  std::string measure;             ///< what d is: "logit of 5 - logit of 3"
  double from_value = 0;           ///< d for the input `from`
  double to_value = 0;             ///< d for the input `to`
  std::vector<std::string> sites;  ///< names of the activations, as capture_activations() has them
  /// (sites, positions): (d - from_value) / (to_value - from_value), where d is that of the input
  /// `from` with this activation replaced, at this position, by that of `to`. 0: nothing comes
  /// back; 1: all does.
  Tensor<double> restored;
};

/// Patches the activations whose names match `pattern` (* and ? stand for any characters), one at
/// a time and one position at a time; in scores, the position of the query. An activation with the
/// same numbers as the chosen one before it, such as a residual stream behind a block and in front
/// of the next, is left out.
///
/// For classes d is the logit of the answer to `to` minus the logit of the answer to `from`, at the
/// last output with different answers; otherwise it is the output that differs most. Requires: both
/// examples passed check_example(). Throws DataError if they differ in length, or if their answers
/// are the same, and ConfigError if no activation matches or the task generates sequences.
template <class T>
Patching patch_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                           const TaskShape& shape, const Example& from, const Example& to,
                           const std::string& pattern);

/// An element of Patching::restored with two digits.
std::string restored_text(double restored);

/// Returns a table to print, ending with a line feed; `tokens` name the positions.
std::string to_text(const Patching& patching, const std::vector<std::string>& tokens);

}  // namespace xgrad
