// How options are written.
#pragma once

#include <string>

#include <xgrad/data/options.hpp>

namespace xgrad {

/// As TOML writes it; a number in its shortest form that reads back as the same.
std::string to_literal(const OptionValue& value);

/// With control characters as TOML writes them, so that a message shows all of a text.
std::string escaped(const std::string& text);

/// "an integer"
const char* type_name(const OptionValue& value);

/// What a key takes: "from 0 to below 1", "at least 1", "adam, adamw, sgd"; empty when anything of
/// its type.
std::string range(const OptionSpec& spec);

}  // namespace xgrad
