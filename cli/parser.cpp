// The command line, parsed with CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

namespace {

// CLI11 reads nothing as 0, and -1 as 2^64 - 1.
template <class T>
std::string flaw_of_number(const std::string& text) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) return "";
  return "is " + excerpt(text) + ", must be a " +
         (std::is_integral_v<T> ? "whole number from 0 to 18446744073709551615" : "number");
}

// CLI11's own check prints the largest double when it refuses a number.
std::string flaw_of_positive(const std::string& text) {
  double number = 0;
  const bool good = CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number);
  return good ? std::string() : "is " + text + ", must be a finite number above 0";
}

std::string flaw_of_file(const std::string& text) {
  const bool override = text.find('=') != text.npos && !text.ends_with(".toml");
  return override ? text + " is an override, not a file" : std::string();
}

void add(CLI::App& app, const Option& option) {
  const auto add_for = [&]<class T>(T* target) {
    if constexpr (std::is_same_v<T, bool>) {
      return app.add_flag(option.names, *target, option.help);
    } else {
      CLI::Option* added = app.add_option(option.names, *target, option.help);
      if (*target != T()) added->capture_default_str();
      if constexpr (std::is_arithmetic_v<T>) added->check({flaw_of_number<T>, ""});
      // One value each time, so that it does not take the positional arguments that follow.
      if (!option.positional()) added->allow_extra_args(false);
      return added;
    }
  };
  CLI::Option* added = std::visit(add_for, option.target);
  const Rules& rules = option.rules;
  added->required(rules.required);
  if (rules.positive) added->check({flaw_of_positive, "POSITIVE"});
  if (rules.new_path) added->check({xgrad::detail::flaw_of_new_path, ""});
  if (rules.range) added->check(CLI::Range(rules.range->first, rules.range->second));
  if (!rules.choices.empty()) added->check(CLI::IsMember(rules.choices));
  if (!rules.value.empty()) added->type_name(rules.value);
  for (const std::string& name : rules.needs) added->needs(name);
  for (const std::string& name : rules.excludes) added->excludes(name);
}

// The number of positional arguments that take any number of words.
std::ptrdiff_t lists(const Command& command) {
  return std::count_if(command.options.begin(), command.options.end(), [](const Option& option) {
    return option.positional() && std::holds_alternative<std::vector<std::string>*>(option.target);
  });
}

// Suggests the nearest command; CLI11 would only say that a subcommand is required.
void require_known_command(const std::vector<Command>& all, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const Command& command : all) names.push_back(command.name);
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string meant = nearest(argv[1], names);
  xgrad::detail::fail<ConfigError>("there is no command '", clipped(argv[1]), "'",
                                   meant.empty() ? "" : "; did you mean '" + meant + "'?",
                                   " (`xgrad --help` lists them)");
}

}  // namespace

Config ConfigArguments::load() const {
  Config loaded = load_config(config, overrides);
  if (loaded.train.threads > 0) set_threads(loaded.train.threads);
  return loaded;
}

std::variant<const Command*, int> parse(const std::vector<Command>& all, int argc, char** argv) {
  CLI::App app("Trains transformer encoders from one config file.", "xgrad");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  const Command* named = nullptr;
  for (const Command& command : all) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.help);
    for (const Option& option : command.options) add(*subcommand, option);
    if (lists(command) > 1) {  // the first takes files and leaves overrides to the second
      subcommand->validate_positionals();
      subcommand->get_option(command.options[0].names)->check({flaw_of_file, ""});
    }
    subcommand->callback([&] { named = &command; });
  }
  require_known_command(all, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err) == 0 ? 0 : 2;
    std::fputs(out.str().c_str(), stdout);
    print_error(err.str());
    return code;
  }
  return named;
}

}  // namespace xgrad::commands
