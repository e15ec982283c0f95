#include <xgrad/data/option_text.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>

#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace {

// The shortest text that reads back as the same number.
template <class... Format>
std::string to_text(double value, Format... format) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr;
  return std::string(buffer, std::size_t(end - buffer));
}

bool is_whole(double x) {
  return x == std::floor(x);
}

// Formats a bound; `excluded` precedes bounds that exclude their value, such as above(0).
std::string bound(double x, double outward, const char* excluded) {
  const double beside = std::nextafter(x, outward);
  return !is_whole(x) && is_whole(beside) ? excluded + to_text(beside) : to_text(x);
}

std::string real_literal(double value) {
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const std::string shortest = to_text(value, format);
  return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
}

std::string list_literal(const Numbers& numbers) {
  std::vector<std::string> literals;
  for (const double x : numbers) literals.push_back(real_literal(x));
  return "[" + joined(literals) + "]";
}

std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return escaped(text) + "\"";
}

}  // namespace

std::string to_literal(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return real_literal(*real);
  if (const auto* numbers = std::get_if<Numbers>(&value)) return list_literal(*numbers);
  return quoted(std::get<std::string>(value));
}

std::string escaped(const std::string& text) {
  return replace_controls(text, [](unsigned code) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04X", code & 0xFFFF);
    return std::string(escape);
  });
}

const char* type_name(const OptionValue& value) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a string",
                                    "a list of numbers"};
  return kNames[value.index()];
}

std::string range(const OptionSpec& spec) {
  if (!spec.choices.empty()) return joined(spec.choices);
  const std::string min = bound(spec.min, -HUGE_VAL, "above "),
                    max = bound(spec.max, HUGE_VAL, "below ");
  const bool open_min = min.starts_with("above"), open_max = max.starts_with("below");
  if (std::isinf(spec.min) && std::isinf(spec.max)) return "";
  if (std::isinf(spec.max)) return open_min ? min : "at least " + min;
  if (std::isinf(spec.min)) return open_max ? max : "at most " + max;
  return (open_min ? min : "from " + min) + " to " + max;
}

static std::string allowed_lists(const OptionSpec& spec) {
  OptionSpec element = spec;
  element.choices.clear();
  const std::string numbers = range(element);
  std::string text = "a list of numbers" + (numbers.empty() ? "" : " " + numbers);
  for (const std::string& word : spec.choices) text += ", or \"" + word + "\"";
  return text;
}

std::string allowed_values(const OptionSpec& spec) {
  if (std::holds_alternative<bool>(spec.fallback)) return "true, false";
  if (std::holds_alternative<Numbers>(spec.fallback)) return allowed_lists(spec);
  const std::string values = range(spec);
  return values.empty() ? type_name(spec.fallback) : values;
}

}  // namespace xgrad
