// What the command line says of itself, for a shell and for man.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

struct OptionHelp {
  std::vector<std::string> names;  ///< "-q", "--quiet"; of a positional its one name
  std::string help;
  bool positional = false;
  bool takes_value = false;
  std::vector<std::string> choices;  ///< of the value; empty: any
};

struct CommandHelp {
  std::string name, help;
  std::vector<OptionHelp> options;
};

/// A script that bash sources: completes commands, options, their choices, and files.
std::string bash_completion(const std::vector<CommandHelp>& commands);

/// xgrad(1) for man(7)'s macros.
std::string man_page(const std::vector<CommandHelp>& commands);

}  // namespace xgrad::commands
