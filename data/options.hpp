// Options: named values, checked against a table of names, types, ranges and defaults. Tasks and
// all sections of a config use them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace xgrad {

/// A list of numbers. OptionValue does not hold a std::vector itself because of a defect of GCC 12:
/// its std::variant assumes that copying a vector never throws. If a copy ran out of memory, the
/// program would jump to an arbitrary address.
struct Numbers : std::vector<double> {
  using vector::vector;
  /// The numbers of a vector.
  explicit Numbers(const std::vector<double>& numbers) : vector(numbers) {}
};

/// The value of an option.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, Numbers>;

/// The specification of one key. A value has the type of `fallback`, but an integer is also valid
/// for a double, and one of the words in `choices` for a list of numbers.
struct OptionSpec {
  std::string name;  ///< the key
  /// The default value. If it is a list that is not empty, a value has as many numbers.
  OptionValue fallback;
  std::string help;  ///< description in one sentence
  /// The smallest allowed number; in a list, for each number.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();  ///< largest allowed number
  std::vector<std::string> choices = {};                 ///< allowed words; empty: any string
  bool file = false;  ///< whether a string is a path, relative to the folder of the config
};

/// The specification of a key whose value is a path.
OptionSpec file_option(const char* name, const char* help, const char* fallback = "");

/// Option values by name. complete() returns a value for every key of a table.
using Options = std::map<std::string, OptionValue, std::less<>>;

/// The integer of a key. Throws ConfigError when the key is missing or has another type.
std::int64_t get_int(const Options& options, const std::string& name);
/// get_int() as a size. Requires: the integer is not negative.
inline std::size_t get_size(const Options& options, const std::string& name) {
  return std::size_t(get_int(options, name));
}
/// The number of a key, which may be an integer. Throws as get_int().
double get_double(const Options& options, const std::string& name);
/// The boolean of a key. Throws as get_int().
bool get_bool(const Options& options, const std::string& name);
/// The text of a key. Throws as get_int().
const std::string& get_string(const Options& options, const std::string& name);

/// The defaults of all keys of a table.
Options defaults(const std::vector<OptionSpec>& table);

/// The next double above x: a `min` that excludes x.
double above(double x);
/// The next double below x: a `max` that excludes x.
double below(double x);

/// The value as a TOML literal. A number has the fewest digits that read back as the same number.
std::string to_literal(const OptionValue& value);

/// The text with control characters escaped as in TOML, so that a message shows them.
std::string escaped(const std::string& text);

/// The type of a value in words: "an integer".
const char* type_name(const OptionValue& value);

/// The allowed values of a key: "from 0 to below 1", "at least 1", "adam, adamw, sgd". Empty if any
/// value of the type is allowed.
std::string range(const OptionSpec& spec);

/// range(), but never empty: "true, false" for a boolean, and the type if any value is allowed.
std::string allowed_values(const OptionSpec& spec);

/// Says what is wrong with a value ("is 0, must be from 1 to 64"); empty if it is valid.
std::string problem(const OptionSpec& spec, const OptionValue& value);

/// Returns the given values, and the defaults of all other keys of the table. Throws ConfigError
/// with a line for each given key that is unknown or whose value has a problem().
Options complete(const std::vector<OptionSpec>& table, const Options& given);

}  // namespace xgrad
