// Shortens lists in messages.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// The first three words, separated by `between`; if there are more, also "and N more".
std::string few(const std::vector<std::string>& words, const std::string& between);

}  // namespace xgrad
