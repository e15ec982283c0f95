#include <xgrad/optim/groups.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>

namespace xgrad {

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups, const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& group) {
    return matches(group.match, name);
  });
  return found == groups.end() ? nullptr : &*found;
}

// Also fails for NaN.
static void check_at_least_0(const char* name, std::size_t group, double value) {
  check<ConfigError>(value >= 0 && std::isfinite(value), "optim.groups[", group, "].", name,
                     ": is ", value, ", must be a finite number of at least 0");
}

void check_groups(const std::vector<ParameterGroup>& groups,
                  const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string& pattern = groups[i].match;
    check_at_least_0("lr_scale", i, groups[i].lr_scale);
    check_at_least_0("weight_decay", i, groups[i].weight_decay.value_or(0));
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::any_of(names.begin(), names.end(), fits)) continue;
    const std::string near = names.empty() ? "none" : nearest_first(pattern, names)[0];
    detail::fail<ConfigError>("optim.groups[", i, "].match: \"", pattern,
                              "\" matches no parameter; the nearest name is ", near);
  }
}

}  // namespace xgrad
