// Parts that a program adds to xgrad: their names, help and keys in a config.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/options.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A model kind, an optimizer, a schedule or a hook of the program, as configs name it.
struct PartEntry {
  std::string name;                      ///< its name: lower-case letters, digits and _
  std::string help;                      ///< one sentence
  std::vector<OptionSpec> options = {};  ///< its own keys, in the section that names it
  /// Keys of its section that it reads as well, among those of built-in parts. A config that sets
  /// others is refused.
  std::vector<std::string> keys = {};
};

namespace detail {

/// Adds a part to the table of keys: its name to the choices of the section's `kind`, `name` or
/// `hooks`, and its own keys, which `own` stores. Throws ConfigError when the name or a key is
/// taken or has a wrong form, or when `keys` names something else than a key of other parts.
void add_part(const std::string& section, const PartEntry& part, Options& (*own)(Config&));

/// The names in log.hooks, which commas separate; spaces around them do not count.
std::vector<std::string> hooks_in(const std::string& list);

/// Says which name in log.hooks is not a hook of the program; empty if all are.
std::string problem_of_hooks(const std::string& list);

}  // namespace detail

}  // namespace xgrad
