// A look at a config before the TOML parser. Not installed.
#pragma once

#include <optional>
#include <string>

namespace xgrad::detail {

struct ScanProblem {
  unsigned line, column;
  std::string text;
};

/// The first thing in the text that the parser must not see, since it would end the process or read
/// past its own rules: deep nesting (tables are freed by recursion), and characters beyond ASCII
/// outside of strings and comments, which TOML forbids. Refuses multi-line strings, which no key
/// has a use for, so that every line stands alone.
std::optional<ScanProblem> scan(const std::string& text);

}  // namespace xgrad::detail
