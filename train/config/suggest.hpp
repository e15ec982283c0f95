// Suggestions for misspelt keys and sections. This header is not installed.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/options.hpp>

namespace xgrad::detail {

/// Returns "; did you mean optim.lr?" for an unknown key, or else a list of the section's keys.
/// `task_keys` are the keys of the config's task.
std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys);

/// Makes a suggestion for a key that is outside of every section.
std::string suggest_anywhere(const std::string& key);

/// Makes a suggestion for an unknown section.
std::string suggest_section(const std::string& section);

}  // namespace xgrad::detail
