// The commands completion and man, which show names, help and options of all commands, and the keys
// of a config.
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <utility>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/scripts.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

namespace {

// CLI11 gives this option to every command.
const Option kHelp{"-h,--help", "Print this help message and exit", static_cast<bool*>(nullptr)};

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  std::istringstream text(option.names);
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

// Escapes text for roff: backslashes, minus signs, and a dot or quote at the start of a line.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && result.empty()) result += "\\&";
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return result;
}

std::string synopsis(const Command& command) {
  std::string text = ".B xgrad " + roff(command.name) + "\n";
  for (const Option& option : command.options) {
    if (option.positional()) text += ".I " + roff(option.names) + "\n";
  }
  return text;
}

std::string described(const Option& option) {
  std::string text = ".TP\n";
  text += (option.positional() ? ".I " : ".B ") + roff(joined(names_of(option), ", "));
  if (!std::holds_alternative<bool*>(option.target) && !option.positional()) text += " VALUE";
  text += "\n" + roff(option.help);
  const std::vector<std::string>& choices = option.rules.choices;
  if (!choices.empty()) text += " (" + roff(joined(choices, ", ")) + ")";
  return text + "\n";
}

std::string bash_completion(const std::vector<Command>& commands) {
  std::vector<std::string> names, with_overrides, keys;
  std::string cases, choices, values;
  for (const Command& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> options = names_of(kHelp);
    for (const Option& option : command.options) {
      if (option.names == "overrides") with_overrides.push_back(command.name);
      if (option.positional()) continue;
      for (const std::string& name : names_of(option)) {
        options.push_back(name);
        if (option.rules.choices.empty()) continue;
        choices += "    '" + command.name + " " + name + "') words='" +
                   joined(option.rules.choices, " ") + "' ;;\n";
      }
    }
    cases += "    '" + command.name + "') options='" + joined(options, " ") + "' ;;\n";
  }
  for (const KeyValues& key : key_values()) {
    keys.push_back(key.key + "=");
    if (key.values.empty()) continue;
    values += "    " + key.key + ") words='" + joined(key.values, " ") + "' ;;\n";
  }
  std::string script = kCompletion;
  const std::pair<std::string, std::string> parts[] = {
      {"@program@", program_invocation_short_name},
      {"@commands@", joined(names, " ")},
      {"@options@", cases},
      {"@choices@", choices},
      {"@with_overrides@", joined(with_overrides, " | ")},
      {"@keys@", joined(keys, " ")},
      {"@values@", values}};
  for (const auto& [mark, text] : parts) {
    for (std::size_t at; (at = script.find(mark)) != script.npos;) {
      script.replace(at, mark.size(), text);
    }
  }
  return script;
}

std::string man_page(const std::vector<Command>& commands) {
  std::string text = std::string(".TH XGRAD 1 \"\" \"xgrad ") + kVersion +
                     "\" \"User Commands\"\n.SH NAME\nxgrad \\- train transformer encoders from "
                     "one config file\n.SH SYNOPSIS\n";
  for (const Command& command : commands) text += synopsis(command) + ".br\n";
  text += ".SH COMMANDS\n";
  for (const Command& command : commands) {
    text += ".SS " + roff(command.name) + "\n" + roff(command.help) + ".\n" + described(kHelp);
    for (const Option& option : command.options) text += described(option);
  }
  text +=
      ".SH CONFIGURATION KEYS\nKey, default, allowed values and meaning, by section of the "
      "config.\n.nf\n";
  std::istringstream keys(describe_config());
  for (std::string line; std::getline(keys, line);) text += roff(line) + "\n";
  return text + ".fi\n" +
         ".SH EXIT STATUS\n0: success; 1: a claim or check failed; 2: wrong config or usage; 3: "
         "wrong or missing data; 4: wrong or damaged checkpoint; 5: a loss, gradient or weight is "
         "NaN or infinite, or no gradient reaches a parameter; 6: a file cannot be read or "
         "written; 7: another process uses the run directory; 8: out of memory; 128 + n: stopped "
         "by signal n, after saving.\n";
}

}  // namespace

Command completion_command() {
  const auto shell = std::make_shared<std::string>();
  return Command("completion", "Print the completion script of a shell",
                 {{"shell", "the shell", shell.get(), {.required = true, .choices = {"bash"}}}},
                 [shell] {
                   std::fputs(bash_completion(all_commands()).c_str(), stdout);
                   return 0;
                 });
}

Command man_command() {
  return Command("man", "Print the manual page", {}, [] {
    std::fputs(man_page(all_commands()).c_str(), stdout);
    return 0;
  });
}

}  // namespace xgrad::commands
