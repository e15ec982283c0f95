// Parameter groups: other settings for the parameters that a pattern names.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xgrad {

/// What holds for the parameters whose names a pattern matches; the first group that does counts.
struct ParameterGroup {
  std::string match = {};  ///< of whole names: * and ? stand for anything, dots too
  double lr_scale = 1.0;   ///< multiplies the learning rate, >= 0
  /// Instead of the settings', >= 0; holds for parameters with WeightDecay::off too.
  std::optional<double> weight_decay = std::nullopt;
  /// No update and no state. Gradients are still computed, and count in global_norm();
  /// Parameters::freeze() saves that too.
  bool freeze = false;
};

/// Whether a group's pattern matches the whole name of a parameter.
bool matches(const std::string& pattern, const std::string& name);

/// The first group that matches; nullptr when none does.
const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups, const std::string& name);

/// Throws ConfigError when the pattern of a group matches none of the names, or a number is out of
/// range.
void check_groups(const std::vector<ParameterGroup>& groups, const std::vector<std::string>& names);

}  // namespace xgrad
