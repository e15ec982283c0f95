// Parameter groups: separate options for parameters whose names match a pattern.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xgrad {

/// Options of the parameters whose names match a pattern. The first matching group applies.
struct ParameterGroup {
  /// Pattern for whole names; * and ? match any characters, including dots.
  std::string match = {};
  double lr_scale = 1.0;  ///< factor of the learning rate, >= 0
  /// Replaces OptimizerOptions::weight_decay, >= 0; also applies to parameters with
  /// WeightDecay::off.
  std::optional<double> weight_decay = std::nullopt;
  /// Neither updates the parameters nor allocates state. Gradients are still computed, and count in
  /// global_norm(); Parameters::freeze() avoids that too.
  bool freeze = false;
};

/// Whether a group's pattern matches the whole name of a parameter.
bool matches(const std::string& pattern, const std::string& name);

/// Returns the first group that matches; nullptr if none does.
const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups, const std::string& name);

/// Throws ConfigError when the pattern of a group matches no name, or a number is out of range.
void check_groups(const std::vector<ParameterGroup>& groups, const std::vector<std::string>& names);

}  // namespace xgrad
