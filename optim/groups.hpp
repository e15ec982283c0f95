// Parameter groups: separate options for parameters whose names match a pattern.
#pragma once

#include <fnmatch.h>

#include <algorithm>
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
inline bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

/// Returns the first group that matches; nullptr if none does.
inline const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups,
                                      const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& group) {
    return matches(group.match, name);
  });
  return found == groups.end() ? nullptr : &*found;
}

}  // namespace xgrad
