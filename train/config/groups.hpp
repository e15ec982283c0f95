// The keys of optim.groups, an array of tables. Not installed.
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
  std::function<std::optional<OptionValue>(const ParameterGroup&)> get;  ///< nothing: the default
  std::function<void(ParameterGroup&, const OptionValue&)> set;
};

const std::vector<GroupKey>& group_keys();

/// Each group as an inline table of TOML, without what is at its default.
std::vector<std::string> group_literals(const std::vector<ParameterGroup>& groups);

}  // namespace xgrad::detail
