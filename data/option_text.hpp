// Formats option values and their ranges as text.
#pragma once

#include <string>

#include <xgrad/data/options.hpp>

namespace xgrad {

/// The value as a TOML literal; a number in the shortest form that reads back the same.
std::string to_literal(const OptionValue& value);

/// The text with control characters escaped as in TOML, so that a message shows them.
std::string escaped(const std::string& text);

/// The type of a value in words: "an integer".
const char* type_name(const OptionValue& value);

/// The allowed values of a key: "from 0 to below 1", "at least 1", "adam, adamw, sgd". Empty if any
/// value of the type is allowed.
std::string range(const OptionSpec& spec);

/// The same, for tables: "true, false" for a boolean, and the type if any value is allowed.
std::string allowed_values(const OptionSpec& spec);

}  // namespace xgrad
