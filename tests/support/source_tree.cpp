#include "support/source_tree.hpp"

namespace xgrad::test {

std::string source_path(const std::string& name) {
  return XGRAD_SOURCE_DIR "/" + name;
}

}  // namespace xgrad::test
