// Options: named values with a table that says what each is, used by tasks and by every section of
// a config.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace xgrad {

/// The value of a key.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One key: its type is that of its default.
struct OptionSpec {
  std::string name;                                       ///< of the key
  OptionValue fallback;                                   ///< its value where a config has none
  std::string help;                                       ///< one sentence
  double min = -std::numeric_limits<double>::infinity();  ///< the least it may be, of a number
  double max = std::numeric_limits<double>::infinity();   ///< the most it may be, of a number
  std::vector<std::string> choices = {};                  ///< of a string; empty: any
  bool file = false;  ///< of a string: a path, which a config gives relative to its own folder
};

/// The row of a path; empty by default.
OptionSpec file_option(const char* name, const char* help);

/// Values by name. Holds every key of its table once it went through a config.
using Options = std::map<std::string, OptionValue, std::less<>>;

/// The value of a key. Throws ConfigError when it is missing or of another type.
std::int64_t get_int(const Options& options, const std::string& name);
/// As get_int(), of a number; an integer is one.
double get_double(const Options& options, const std::string& name);
/// As get_int().
bool get_bool(const Options& options, const std::string& name);
/// As get_int().
const std::string& get_string(const Options& options, const std::string& name);

/// Every default of a table.
Options defaults(const std::vector<OptionSpec>& table);

/// The least bound that excludes x: the number above it.
double above(double x);
/// The largest bound that excludes x: the number below it.
double below(double x);

/// What is wrong with a value ("is 0, must be from 1 to 64"); empty when nothing is.
std::string problem(const OptionSpec& spec, const OptionValue& value);

/// The given values with the table's defaults for the rest. Throws ConfigError with every key that
/// is unknown, of another type or out of range, one a line.
Options complete(const std::vector<OptionSpec>& table, const Options& given);

}  // namespace xgrad
