// Parameter groups: other settings for the parameters that a pattern names.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xgrad {

/// What holds for the parameters whose names a pattern matches; the first group that does counts.
struct ParameterGroup {
  std::string match;  ///< of whole names: * and ? stand for anything, dots too
  double lr = 1.0;    ///< a factor of the learning rate
  std::optional<double> weight_decay =
      std::nullopt;     ///< instead of the settings', and of what decays() says
  bool freeze = false;  ///< no update and no state; see Parameters::freeze(), which comes first
};

/// Whether a group's pattern matches the whole name of a parameter.
bool matches(const std::string& pattern, const std::string& name);

/// The first group that matches; nullptr when none does.
const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups, const std::string& name);

/// Throws ConfigError when the pattern of a group matches none of the names.
void check_groups(const std::vector<ParameterGroup>& groups, const std::vector<std::string>& names);

}  // namespace xgrad
