// TemporaryDirectory: a directory for one test, removed at its end.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/disk/temporary.hpp>

namespace xgrad::test {

class TemporaryDirectory : public TemporaryFolder {
 public:
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all, ignored);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  /// Writes a file directly, as another program would, and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
};

}  // namespace xgrad::test
