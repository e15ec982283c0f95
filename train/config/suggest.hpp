// Which key the user may have meant. Not installed.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/options.hpp>

namespace xgrad::detail {

/// "; did you mean optim.lr?" for a key that its section does not have, or the keys that it has;
/// `task_keys` are those of the config's task.
std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys);

/// The same for a key that stands outside of every section.
std::string suggest_anywhere(const std::string& key);

/// The same for a section.
std::string suggest_section(const std::string& section);

}  // namespace xgrad::detail
