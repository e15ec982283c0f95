// The manual page and the shell completion, made from the command definitions.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

struct OptionHelp {
  std::vector<std::string> names;  ///< "-q", "--quiet"; a positional has one name
  std::string help;
  bool positional = false;
  bool takes_value = false;
  std::vector<std::string> choices;  ///< allowed values; empty: any
};

struct CommandHelp {
  std::string name, help;
  std::vector<OptionHelp> options;
};

/// A script for bash to source; it completes commands, options, option values and files.
std::string bash_completion(const std::vector<CommandHelp>& commands);

/// The manual page xgrad(1), in roff with man(7) macros.
std::string man_page(const std::vector<CommandHelp>& commands);

}  // namespace xgrad::commands
