#include <xgrad/data/options.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {

// The shortest text that reads back as the same number.
template <class... Format>
static std::string to_text(double value, Format... format) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr;
  return std::string(buffer, std::size_t(end - buffer));
}

static bool is_whole(double x) {
  return x == std::floor(x);
}

// Formats a bound; `excluded` precedes bounds that exclude their value, such as above(0).
static std::string bound(double x, double outward, const char* excluded) {
  const double beside = std::nextafter(x, outward);
  return !is_whole(x) && is_whole(beside) ? excluded + to_text(beside) : to_text(x);
}

static std::string real_literal(double value) {
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const std::string shortest = to_text(value, format);
  return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
}

static std::string list_literal(const Numbers& numbers) {
  std::vector<std::string> literals;
  for (const double x : numbers) literals.push_back(real_literal(x));
  return "[" + joined(literals) + "]";
}

static std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return escaped(text) + "\"";
}

template <class T>
static const T& get(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  check<ConfigError>(found != options.end(), name, ": the option is missing");
  const T* value = std::get_if<T>(&found->second);
  check<ConfigError>(value, name, ": is ", type_name(found->second), ", must be ",
                     type_name(OptionValue(T())));
  return *value;
}

/// The value as a number, if it is one.
static std::optional<double> number(const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

static bool is_choice(const OptionSpec& spec, const std::string& word) {
  return std::ranges::find(spec.choices, word) != spec.choices.end();
}

template <class... Parts>
static std::string text(const Parts&... parts) {
  detail::Message message;
  (message.add(parts), ...);
  return message.text();
}

static std::string unknown_key(const std::vector<OptionSpec>& table, const std::string& name) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : table) names.push_back(spec.name);
  const std::string meant = nearest(name, names);
  if (!meant.empty()) return text(name, ": unknown option; did you mean ", meant, "?");
  return text(name, ": unknown option; there are ", joined(names));
}

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

// How many numbers a list has; 0: any number.
static std::size_t count_of(const OptionSpec& spec) {
  return std::get<Numbers>(spec.fallback).size();
}

static std::string allowed_lists(const OptionSpec& spec) {
  OptionSpec element = spec;
  element.choices.clear();
  const std::string numbers = range(element);
  const std::size_t count = count_of(spec);
  std::string text = "a list of " + (count > 0 ? std::to_string(count) + " " : "") + "numbers" +
                     (numbers.empty() ? "" : " " + numbers);
  for (const std::string& word : spec.choices) text += ", or \"" + word + "\"";
  return text;
}

std::string allowed_values(const OptionSpec& spec) {
  if (std::holds_alternative<bool>(spec.fallback)) return "true, false";
  if (std::holds_alternative<Numbers>(spec.fallback)) return allowed_lists(spec);
  const std::string values = range(spec);
  return values.empty() ? type_name(spec.fallback) : values;
}

std::int64_t get_int(const Options& options, const std::string& name) {
  return get<std::int64_t>(options, name);
}

double get_double(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  if (found != options.end() && number(found->second)) return *number(found->second);
  return get<double>(options, name);
}

bool get_bool(const Options& options, const std::string& name) {
  return get<bool>(options, name);
}

const std::string& get_string(const Options& options, const std::string& name) {
  return get<std::string>(options, name);
}

OptionSpec file_option(const char* name, const char* help, const char* fallback) {
  OptionSpec spec{name, std::string(fallback), help};
  spec.file = true;
  return spec;
}

Options defaults(const std::vector<OptionSpec>& table) {
  Options options;
  for (const OptionSpec& spec : table) options[spec.name] = spec.fallback;
  return options;
}

double above(double x) {
  return std::nextafter(x, HUGE_VAL);
}

double below(double x) {
  return std::nextafter(x, -HUGE_VAL);
}

// Says what is wrong with a list of numbers, or with a word in its place.
static std::string problem_of_list(const OptionSpec& spec, const OptionValue& value) {
  const auto* numbers = std::get_if<Numbers>(&value);
  if (numbers == nullptr) {
    const auto& word = std::get<std::string>(value);
    if (is_choice(spec, word)) return "";
    return text("is ", to_literal(clipped(word)), ", must be ", allowed_values(spec));
  }
  if (count_of(spec) > 0 && numbers->size() != count_of(spec)) {
    return text("is ", to_literal(*numbers), ", must be ", allowed_values(spec));
  }
  const OptionSpec element{spec.name, 0.0, "", spec.min, spec.max};
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::string wrong = problem(element, (*numbers)[i]);
    if (!wrong.empty()) return text("number ", i + 1, " ", wrong);
  }
  return "";
}

std::string problem(const OptionSpec& spec, const OptionValue& value) {
  const bool for_list = std::holds_alternative<Numbers>(spec.fallback);
  if (for_list && (std::holds_alternative<Numbers>(value) ||
                   (std::holds_alternative<std::string>(value) && !spec.choices.empty()))) {
    return problem_of_list(spec, value);
  }
  const auto* word = std::get_if<std::string>(&value);
  const std::string shown = to_literal(word ? OptionValue(clipped(*word)) : value);
  const bool integer_for_real =
      std::holds_alternative<double>(spec.fallback) && std::holds_alternative<std::int64_t>(value);
  if (value.index() != spec.fallback.index() && !integer_for_real) {
    return text("is ", type_name(value), ", ", shown, ", must be ", type_name(spec.fallback));
  }
  if (const std::optional<double> x = number(value)) {
    if (!std::isfinite(*x)) return text("is ", shown, ", must be finite");
    if (*x < spec.min || *x > spec.max) return text("is ", shown, ", must be ", range(spec));
  }
  // A path would end at the zero byte.
  if (word && word->find('\0') != word->npos) {
    return text("is ", shown, ", must have no zero byte");
  }
  const auto& choices = spec.choices;
  if (!word || choices.empty() || is_choice(spec, *word)) return "";
  const std::string meant = nearest(*word, choices);
  const std::string question = meant.empty() ? "" : text("; did you mean \"", meant, "\"?");
  return text("is ", shown, ", must be one of ", joined(nearest_first(*word, choices)), question);
}

Options complete(const std::vector<OptionSpec>& table, const Options& given) {
  std::string problems;
  Options options = defaults(table);
  for (const auto& [name, value] : given) {
    const auto spec = std::ranges::find(table, name, &OptionSpec::name);
    std::string wrong;
    if (spec == table.end()) {
      wrong = unknown_key(table, name);
    } else if (wrong = problem(*spec, value); !wrong.empty()) {
      wrong = text(name, ": ", wrong);
    }
    if (!wrong.empty()) problems += (problems.empty() ? "" : "\n") + wrong;
    options[name] = value;
  }
  check<ConfigError>(problems.empty(), problems);
  return options;
}

}  // namespace xgrad
