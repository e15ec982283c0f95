// Files of the source tree that a test reads.
#pragma once

#include <string>

namespace xgrad::test {

/// The path of a file or folder of the source tree, as in source_path("configs/copy.toml").
std::string source_path(const std::string& name);

}  // namespace xgrad::test
