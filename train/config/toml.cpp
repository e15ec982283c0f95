#include <xgrad/train/config/toml.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

// toml++ also reports as errors what it asserts, and an assertion would end the process.
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/option_text.hpp>

namespace xgrad::detail {

namespace {

constexpr unsigned kMaxDepth = 32;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Finds the first problem in a text that the TOML parser must not see: deep nesting, which could
// exhaust the stack because tables are freed by recursion, and characters beyond ASCII outside of
// strings and comments, which TOML forbids but the parser accepts. Also refuses multi-line strings.
// No key needs them, and without them every line can be scanned by itself.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  }

  std::optional<Problem> run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (!is_continuation(c)) ++column_;
      if (c == '\n') {
        start_line();
      } else if (!comment_) {
        if (const char* wrong = quote_ != 0 ? inside_string(c) : outside(c))
          return Problem{{line_, std::max(column_, 1u)}, "", wrong};
      }
    }
    return std::nullopt;
  }

 private:
  void start_line() {
    ++line_;
    column_ = depth_ = 0;
    quote_ = 0;
    comment_ = false;
  }

  const char* inside_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\' && quote_ == '"') {
      escaped_ = true;
    } else if (c == quote_) {
      quote_ = 0;
    }
    return nullptr;
  }

  const char* outside(char c) {
    if (static_cast<signed char>(c) < 0)
      return "a character beyond ASCII outside of a string or comment";
    comment_ = c == '#';
    if (c == '"' || c == '\'') {
      const std::string_view ahead = text_.substr(at_, 3);
      if (ahead == "\"\"\"" || ahead == "'''") return "a multi-line string, which no key takes";
      quote_ = c;
      escaped_ = false;
    }
    if (c == '.' || c == '[' || c == '{') ++depth_;
    return depth_ > kMaxDepth ? "more than 32 dots and brackets in one line" : nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1, column_ = 0, depth_ = 0;
  char quote_ = 0;
  bool escaped_ = false, comment_ = false;
};

Place place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

ParsedValue value_of(const toml::node& node);

Assignment assignment(const std::string& section, const toml::key& key, const toml::node& node) {
  const Place key_place = place_of(key.source());
  // A table has no value that a message could point at.
  const Place value_place = node.is_value() ? place_of(node.source()) : key_place;
  return {section, std::string(key.str()), value_of(node), key_place, value_place};
}

Tables tables_of(const toml::array& array) {
  Tables result;
  for (const toml::node& node : array) {
    std::vector<Assignment>& table = result.tables.emplace_back();
    for (const auto& [key, value] : *node.as_table()) table.push_back(assignment("", key, value));
  }
  return result;
}

ParsedValue numbers_of(const toml::array& array) {
  Numbers numbers;
  for (const toml::node& node : array) {
    const ParsedValue value = value_of(node);
    const auto* option = std::get_if<OptionValue>(&value);
    const auto* real = option ? std::get_if<double>(option) : nullptr;
    const auto* integer = option ? std::get_if<std::int64_t>(option) : nullptr;
    if (real == nullptr && integer == nullptr) return Unusable{"an array"};
    numbers.push_back(real ? *real : double(*integer));
  }
  return OptionValue(std::move(numbers));
}

ParsedValue value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return OptionValue(flag->get());
  if (const auto* text = node.as_string()) return OptionValue(text->get());
  if (const auto* real = node.as_floating_point()) return OptionValue(real->get());
  if (const auto* integer = node.as_integer()) {
    if (integer->flags() == toml::value_flags::none) return OptionValue(integer->get());
    return Unusable{"an integer in another base than 10"};
  }
  if (node.is_table()) return Unusable{"a table"};
  const toml::array* array = node.as_array();
  if (array && (array->empty() || node.is_array_of_tables())) return tables_of(*array);
  if (array) return numbers_of(*array);
  return Unusable{"a date or time"};
}

bool before(const Place& a, const Place& b) {
  return std::pair(a.line, a.column) < std::pair(b.line, b.column);
}

Document walk(const toml::table& root) {
  Document document;
  for (const auto& [key, node] : root) {
    const toml::table* section = node.as_table();
    if (section == nullptr) {
      document.assignments.push_back(assignment("", key, node));
      continue;
    }
    const std::string name(key.str());
    document.sections[name] = place_of(key.source());
    for (const auto& [inner, value] : *section) {
      document.assignments.push_back(assignment(name, inner, value));
    }
  }
  std::sort(
      document.assignments.begin(), document.assignments.end(),
      [](const Assignment& a, const Assignment& b) { return before(a.key_place, b.key_place); });
  return document;
}

// The value of an override, or nothing if it is not a TOML expression.
std::optional<ParsedValue> parse_value(const std::string& text) {
  if (Scanner(text).run()) return std::nullopt;
  try {
    const toml::table table = toml::parse("value=" + text);
    if (table.size() != 1) return std::nullopt;
    return value_of(*table.get("value"));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

}  // namespace

Document parse_document(const std::string& text) {
  if (text.size() > kMostConfigBytes) {
    const std::string size = std::to_string(text.size());
    return {.problems = {{{}, "", "has " + size + " bytes; a config has at most 1 MiB"}}};
  }
  if (const auto found = Scanner(text).run()) return {.problems = {*found}};
  try {
    return walk(toml::parse(text));
  } catch (const toml::parse_error& error) {
    return {.problems = {{place_of(error.source()), "", std::string(error.description())}}};
  }
}

void parse_override(const std::string& text, unsigned number, Document& document) {
  const Place place{.line = number, .override = text};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::size_t dot = name.find('.');
  if (equals == std::string::npos || dot == std::string::npos || escaped(text) != text ||
      name.find_first_of(" \t\"'") != name.npos) {
    document.problems.push_back({place, "", "expected SECTION.KEY=VALUE, as in optim.lr=3e-4"});
    return;
  }
  const std::string value = text.substr(equals + 1);
  auto parsed = parse_value(value);
  if (!parsed && !value.empty() && value.find_first_of("\"'[]{}=,#") == std::string::npos) {
    parsed = parse_value(to_literal(value));  // a bare word
  }
  if (!parsed) {
    const bool plain = !value.empty() && value.find_first_of("\"'[]{}") == std::string::npos;
    document.problems.push_back(
        {place, name,
         "the value is not a TOML expression" +
             (plain ? "; this text needs quotes: '" + name + "=" + to_literal(value) + "'" : "")});
    return;
  }
  if (auto* inner = std::get_if<Tables>(&*parsed)) {
    for (auto& table : inner->tables) {
      for (Assignment& a : table) a.key_place = a.value_place = place;
    }
  }
  document.assignments.push_back(
      {name.substr(0, dot), name.substr(dot + 1), *parsed, place, place});
}

std::pair<std::string, std::vector<std::string>> parse_axis(const std::string& text) {
  const auto refuse = [&](const char* why) {
    fail<ConfigError>("'", escaped(clipped(text, 200)), "': ", why,
                      "; write, for example, optim.lr=[1e-3, 3e-4]");
  };
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == text.npos || key.find('.') == key.npos || text.find('\n') != text.npos) {
    refuse("expected SECTION.KEY=[VALUES]");
  }
  std::vector<std::string> values;
  try {
    const toml::table table = toml::parse("values=" + text.substr(equals + 1));
    const toml::array* array = table["values"].as_array();
    if (array == nullptr || array->empty() || table.size() != 1) refuse("expected values in [ ]");
    for (const toml::node& node : *array) {
      const ParsedValue value = value_of(node);
      const auto* option = std::get_if<OptionValue>(&value);
      if (option == nullptr) refuse("a value is not a number, string or boolean");
      values.push_back(to_literal(*option));
    }
  } catch (const toml::parse_error&) {
    refuse("the values are not TOML");
  }
  return {key, values};
}

}  // namespace xgrad::detail
