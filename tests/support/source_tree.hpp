// Files of the source tree that a test reads.
#pragma once

#include <string>
#include <vector>

namespace xgrad::test {

/// The path of a file or folder of the source tree, as in source_path("configs/copy.toml").
std::string source_path(const std::string& name);

/// The paths of the configs that come with xgrad, in the order of their names.
std::vector<std::string> shipped_configs();

}  // namespace xgrad::test
