#include <xgrad/optim/groups.hpp>

#include <fnmatch.h>

#include <algorithm>

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

void check_groups(const std::vector<ParameterGroup>& groups,
                  const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string& pattern = groups[i].match;
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::any_of(names.begin(), names.end(), fits)) continue;
    const std::string near = names.empty() ? "none" : nearest_first(pattern, names)[0];
    detail::fail<ConfigError>("optim.groups[", i, "].match: \"", pattern,
                              "\" matches no parameter; the nearest name is ", near);
  }
}

}  // namespace xgrad
