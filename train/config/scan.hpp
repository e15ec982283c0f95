// A check of a config before the TOML parser reads it. This header is not installed.
#pragma once

#include <optional>
#include <string>

namespace xgrad::detail {

struct ScanProblem {
  unsigned line, column;
  std::string text;
};

/// Returns the first problem in the text that the TOML parser must not see: deep nesting, which
/// could exhaust the stack because tables are freed by recursion, and characters beyond ASCII
/// outside of strings and comments, which TOML forbids but the parser accepts. Also refuses
/// multi-line strings. No key needs them, and without them every line can be scanned by itself.
std::optional<ScanProblem> scan(const std::string& text);

}  // namespace xgrad::detail
