// Parses TOML into assignments with their places. Knows no keys. This header is not installed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/data/options.hpp>

namespace xgrad::detail {

/// Maximum size of a config, in bytes.
inline constexpr std::size_t kMostConfigBytes = 1 << 20;

/// A position in the file or in an override.
struct Place {
  unsigned line = 1;
  unsigned column = 1;
  std::optional<std::string> override = {};  ///< the override, if any; `line` is then its number

  /// The order of messages: messages about overrides come last.
  auto order() const { return std::tuple(override.has_value(), line, column); }
};

/// A value of a type that no key has: "an array", "a date".
struct Unusable {
  std::string what;
};

struct Assignment;

/// An array of tables, or an empty array.
struct Tables {
  std::vector<std::vector<Assignment>> tables;
};

using ParsedValue = std::variant<OptionValue, Unusable, Tables>;

struct Assignment {
  std::string section, key;  ///< section is empty for a key outside of every section
  ParsedValue value;
  Place key_place, value_place;

  std::string name() const { return section + "." + key; }
};

/// A problem and its place; `key` may be empty.
struct Problem {
  Place place;
  std::string key, text;
};

/// The contents of a file in the order in which they appear.
struct Document {
  std::vector<Assignment> assignments = {};
  std::map<std::string, Place> sections = {};
  std::vector<Problem> problems = {};  ///< after a syntax error all other members are empty
};

/// Parses the text of a config. Syntax errors become Document::problems.
Document parse_document(const std::string& text);

/// Adds the override "section.key=value", or a problem, to the document. A bare word is a string.
void parse_override(const std::string& text, unsigned number, Document& document);

/// Splits "section.key=[a, b]" into the key and the values as TOML literals. Bare words are strings
/// if no value of the list has quotes. Throws ConfigError.
std::pair<std::string, std::vector<std::string>> parse_axis(const std::string& text);

}  // namespace xgrad::detail
