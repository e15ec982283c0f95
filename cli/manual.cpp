#include <xgrad/cli/manual.hpp>

#include <xgrad/data/excerpt.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

namespace {

// Escapes text for roff: backslashes, minus signs, and a dot or quote at the start of a line.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      if ((c == '.' || c == '\'') && result.empty()) result += "\\&";
      result += c;
    }
  }
  return result;
}

std::string synopsis(const CommandHelp& command) {
  std::string text = ".B xgrad " + roff(command.name) + "\n";
  for (const OptionHelp& option : command.options) {
    if (option.positional) text += ".I " + roff(option.names[0]) + "\n";
  }
  return text;
}

std::string described(const OptionHelp& option) {
  std::string text = ".TP\n";
  text += (option.positional ? ".I " : ".B ") + roff(joined(option.names, ", "));
  if (option.takes_value && !option.positional) text += " VALUE";
  text += "\n" + roff(option.help);
  if (!option.choices.empty()) text += " (" + roff(joined(option.choices, ", ")) + ")";
  return text + "\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandHelp>& commands) {
  std::vector<std::string> names;
  std::string cases, choices;
  for (const CommandHelp& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> options;
    for (const OptionHelp& option : command.options) {
      if (option.positional) continue;
      options.insert(options.end(), option.names.begin(), option.names.end());
      for (const std::string& name : option.names) {
        if (option.choices.empty()) continue;
        choices += "    '" + command.name + " " + name + "') words='" +
                   joined(option.choices, " ") + "' ;;\n";
      }
    }
    cases += "    '" + command.name + "') options='" + joined(options, " ") + "' ;;\n";
  }
  return "# bash completion of xgrad: source this file, or put it where bash-completion looks.\n"
         "_xgrad() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=${COMP_WORDS[1]} options= words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -W '" +
         joined(names, " ") +
         " --help --version' -- \"$current\")\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         cases + "  esac\n  case \"$command $before\" in\n" + choices +
         "    *) words= ;;\n"
         "  esac\n"
         "  if [[ $words ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  elif [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _xgrad xgrad\n";
}

std::string man_page(const std::vector<CommandHelp>& commands) {
  std::string text = std::string(".TH XGRAD 1 \"\" \"xgrad ") + kVersion +
                     "\" \"User Commands\"\n.SH NAME\nxgrad \\- train transformer encoders from "
                     "one config file\n.SH SYNOPSIS\n";
  for (const CommandHelp& command : commands) text += synopsis(command) + ".br\n";
  text += ".SH COMMANDS\n";
  for (const CommandHelp& command : commands) {
    text += ".SS " + roff(command.name) + "\n" + roff(command.help) + ".\n";
    for (const OptionHelp& option : command.options) text += described(option);
  }
  return text +
         ".SH EXIT STATUS\n0: success; 1: a claim or check failed; 2: wrong config or usage; 3: "
         "wrong or missing data; 4: wrong or damaged checkpoint; 5: a loss, gradient or weight is "
         "NaN or infinite; 6: a file cannot be read or written; 7: another process uses the run "
         "directory; 8: out of memory; 128 + n: stopped by signal n, after saving.\n";
}

}  // namespace xgrad::commands
