// What must hold between the keys of a config. Not installed.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config.hpp>

namespace xgrad::detail {

struct RuleBroken {
  std::vector<std::string> keys;  ///< that take part; the first names the problem
  std::string text;
};

std::vector<RuleBroken> broken_rules(const Config& config);

}  // namespace xgrad::detail
