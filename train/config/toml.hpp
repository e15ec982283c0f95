// From TOML to assignments with their places; knows nothing of the keys. Not installed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/data/options.hpp>

namespace xgrad::detail {

/// Of a config, in bytes.
inline constexpr std::size_t kMostConfigBytes = 1 << 20;

/// Where something stands: in the file, or in an override.
struct Place {
  Place() = default;
  Place(unsigned line_number, unsigned column_number) : line(line_number), column(column_number) {}
  Place(std::string override_text, unsigned number)
      : line(number), override(std::move(override_text)) {}

  unsigned line = 1;
  unsigned column = 1;
  std::optional<std::string> override;  ///< its text; then line is its number among them
};

/// A value that no key can have: "an array", "a date".
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
};

/// Something that is wrong, at a place; `key` may be empty.
struct Problem {
  Place place;
  std::string key;
  std::string text;
};

/// What a file holds, in the order of its places.
struct Document {
  Document() = default;
  explicit Document(Problem problem) { problems.push_back(std::move(problem)); }

  std::vector<Assignment> assignments;
  std::map<std::string, Place> sections;
  std::vector<Problem> problems;  ///< a fault of syntax: then the rest is empty
};

Document parse_document(const std::string& text);

/// Adds what "section.key=value" sets, or a problem. The value is a TOML expression; what is none,
/// and looks like a bare word, is a string.
void parse_override(const std::string& text, unsigned number, Document& document);

/// "section.key=[a, b]" as the key and its values, each as a TOML literal. Throws ConfigError.
std::pair<std::string, std::vector<std::string>> parse_axis(const std::string& text);

}  // namespace xgrad::detail
