// What must hold between the keys of a config. Not installed.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad::detail {

struct RuleBroken {
  std::vector<std::string> keys;  ///< that take part; the first names the problem
  std::string text;
};

std::vector<RuleBroken> broken_rules(const Config& config);

/// What must hold besides for a run that begins; the config of one that goes on need not keep it.
std::vector<RuleBroken> broken_rules_of_new_runs(const Config& config);

}  // namespace xgrad::detail
