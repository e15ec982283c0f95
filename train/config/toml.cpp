#include <xgrad/train/config/toml.hpp>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

// Switches off the assertions of toml++: they would end the process, and it reports the same faults
// as errors. Errors are returned: the constructor of a thrown one allocates memory in a function
// that may not throw, so the process would end there if memory ran out.
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad::detail {

constexpr unsigned kMaxDepth = 32;

// Finds text that must not reach the parser. Deep nesting: the parser frees it by recursion.
// Characters beyond ASCII outside of strings and comments: the parser accepts them, but TOML
// forbids them. Multi-line strings: without them, each line can be scanned on its own.
static std::optional<Problem> problem_before_parsing(std::string_view text) {
  unsigned line = 1, column = 0, depth = 0;
  char quote = 0;  // the character that ends the string or comment at c; 0: neither
  bool after_backslash = false;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto problem = [&](const char* what) {
      return Problem{{line, std::max(column, 1u)}, "", what};
    };
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++column;  // the first byte of a character
    if (c == '\n') {
      ++line;
      column = depth = 0;
      quote = 0;
    } else if (quote != 0) {
      const bool counts =
          !std::exchange(after_backslash, !after_backslash && c == '\\' && quote == '"');
      if (counts && c == quote) quote = 0;
    } else if (static_cast<signed char>(c) < 0) {
      return problem(text.starts_with("\x89HDF")  // a user may pass a checkpoint
                         ? "an HDF5 file; a config is TOML"
                         : "a character beyond ASCII outside of a string or comment");
    } else if (c == '"' || c == '\'') {
      if (text.substr(at, 3) == std::string(3, c)) {
        return problem("a multi-line string, which no key takes");
      }
      quote = c;
      after_backslash = false;
    } else {
      if (c == '#') quote = '\n';
      depth += c == '.' || c == '[' || c == '{';
      if (depth > kMaxDepth) return problem("more than 32 dots and brackets in one line");
    }
  }
  return std::nullopt;
}

static Place place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

static ParsedValue value_of(const toml::node& node);

static Assignment assign(const std::string& section, const toml::key& key, const toml::node& node) {
  const Place key_place = place_of(key.source());
  // A table has no value that a message could point at.
  const Place value_place = node.is_value() ? place_of(node.source()) : key_place;
  return {section, std::string(key.str()), value_of(node), key_place, value_place};
}

// An array of tables, or of numbers.
static ParsedValue value_of(const toml::array& array) {
  if (array.empty() || array.is_array_of_tables()) {
    Tables result;
    for (const toml::node& node : array) {
      std::vector<Assignment>& table = result.tables.emplace_back();
      for (const auto& [key, value] : *node.as_table()) table.push_back(assign("", key, value));
    }
    return result;
  }
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

static ParsedValue value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return OptionValue(flag->get());
  if (const auto* text = node.as_string()) return OptionValue(text->get());
  if (const auto* real = node.as_floating_point()) return OptionValue(real->get());
  if (const auto* integer = node.as_integer()) {
    if (integer->flags() == toml::value_flags::none) return OptionValue(integer->get());
    return Unusable{"an integer in another base than 10"};
  }
  if (const toml::array* array = node.as_array()) return value_of(*array);
  return Unusable{node.is_table() ? "a table" : "a date or time"};
}

static Document walk(const toml::table& root) {
  Document document;
  const auto add = [&](auto&&... parts) { document.assignments.push_back(assign(parts...)); };
  for (const auto& [key, node] : root) {
    const toml::table* section = node.as_table();
    if (section == nullptr) {
      add("", key, node);
      continue;
    }
    const std::string name(key.str());
    document.sections[name] = place_of(key.source());
    for (const auto& [inner, value] : *section) add(name, inner, value);
  }
  std::ranges::sort(document.assignments, {}, [](auto& a) { return a.key_place.order(); });
  return document;
}

// A table with the value of this text as `value`, or nothing if the text is not a TOML expression.
static std::optional<toml::table> parse_expression(const std::string& text) {
  if (problem_before_parsing(text)) return std::nullopt;
  toml::parse_result parsed = toml::parse("value=" + text);
  if (!parsed || parsed.table().size() != 1) return std::nullopt;
  return std::move(parsed.table());
}

// The value of an override, or nothing if it is not a TOML expression.
static std::optional<ParsedValue> parse_value(const std::string& text) {
  const auto parsed = parse_expression(text);
  if (!parsed) return std::nullopt;
  return value_of(*parsed->get("value"));
}

// A bare word becomes a string; other text stays as it is.
static std::string quote_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of("\"'[]{}=,#") == std::string::npos;
  return plain && !parse_value(text) ? to_literal(text) : text;
}

Document parse_document(const std::string& text) {
  if (text.size() > kMostConfigBytes) {
    const std::string size = std::to_string(text.size());
    return {.problems = {{{}, "", "has " + size + " bytes; a config has at most 1 MiB"}}};
  }
  if (const auto found = problem_before_parsing(text)) return {.problems = {*found}};
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return walk(parsed.table());
  const toml::parse_error& error = parsed.error();
  return {.problems = {{place_of(error.source()), "", std::string(error.description())}}};
}

void parse_override(const std::string& text, unsigned number, Document& document) {
  const Place place{.line = number, .override = text};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::size_t dot = name.find('.');
  const auto refuse = [&](const std::string& key, const std::string& why) {
    document.problems.push_back({place, key, why});
  };
  if (equals == std::string::npos || dot == std::string::npos || escaped(text) != text ||
      name.find_first_of(" \t\"'") != name.npos) {
    return refuse("", "expected SECTION.KEY=VALUE, as in optim.lr=3e-4");
  }
  const std::string value = text.substr(equals + 1);
  const bool plain = !value.empty() && value.find_first_of("\"'[]{}") == std::string::npos;
  auto parsed = parse_value(quote_word(value));
  if (!parsed) {
    const std::string quoted = "; this text needs quotes: '" + name + "=" + to_literal(value) + "'";
    return refuse(name, "the value is not a TOML expression" + (plain ? quoted : ""));
  }
  if (auto* inner = std::get_if<Tables>(&*parsed)) {
    for (auto& table : inner->tables) {
      for (Assignment& a : table) a.key_place = a.value_place = place;
    }
  }
  document.assignments.push_back(
      {name.substr(0, dot), name.substr(dot + 1), *parsed, place, place});
}

// The list [rotary, none] with its bare words in quotes; a list with quotes as it is.
static std::string quote_words(const std::string& list) {
  const bool words = list.starts_with('[') && list.ends_with(']');
  if (!words || list.find_first_of("\"'") != list.npos) return list;
  std::string result = "[";
  std::istringstream items(list.substr(1, list.size() - 2));
  for (std::string item; std::getline(items, item, ',');) {
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    result += quote_word(item) + ",";
  }
  return result + "]";
}

std::pair<std::string, std::vector<std::string>> parse_axis(const std::string& text) {
  const auto refuse = [&](const char* why) {
    fail<ConfigError>("'", escaped(clipped(text, 200)), "': ", why,
                      "; write, for example, 'optim.lr=[1e-3, 3e-4]' or 'optim.name=[adam, sgd]'");
  };
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == text.npos || key.find('.') == key.npos || text.find('\n') != text.npos) {
    refuse("expected SECTION.KEY=[VALUES]");
  }
  const auto parsed = parse_expression(quote_words(text.substr(equals + 1)));
  if (!parsed) refuse("the values are not TOML");
  const toml::array* array = parsed->get("value")->as_array();
  if (array == nullptr || array->empty()) refuse("expected values in [ ]");
  std::vector<std::string> values;
  for (const toml::node& node : *array) {
    const ParsedValue value = value_of(node);
    const auto* option = std::get_if<OptionValue>(&value);
    if (option == nullptr) refuse("a value is not a number, string or boolean");
    values.push_back(to_literal(*option));
  }
  return {key, values};
}

}  // namespace xgrad::detail
