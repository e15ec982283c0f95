#include "support/source_tree.hpp"

#include <algorithm>
#include <filesystem>

namespace xgrad::test {

std::string source_path(const std::string& name) {
  return XGRAD_SOURCE_DIR "/" + name;
}

std::vector<std::string> shipped_configs() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path("configs"))) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace xgrad::test
