// The keys of optim.groups, an array of tables in the config. This header is not installed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/options.hpp>
#include <xgrad/optim/groups.hpp>

namespace xgrad::detail {

struct GroupKey {
  OptionSpec spec;
  std::function<std::optional<OptionValue>(const ParameterGroup&)> get;  ///< nothing: default
  std::function<void(ParameterGroup&, const OptionValue&)> set;
};

const std::vector<GroupKey>& group_keys();

/// Each group as an inline TOML table; keys at their defaults are left out.
std::vector<std::string> group_literals(const std::vector<ParameterGroup>& groups);

}  // namespace xgrad::detail
