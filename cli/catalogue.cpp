// The commands config, tasks, info, completion and man, which explain xgrad itself.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/scripts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

namespace {

constexpr std::size_t kExamples = 3;

struct TasksArguments {
  std::string name;
  bool baselines = false;
};

// Accuracies on the test split, one line each.
std::string accuracies(const Task& task, bool baselines) {
  std::string lines;
  const auto add = [&](const std::string& of, const std::optional<double>& accuracy) {
    if (accuracy) lines += fmt::format("  {:<32} {:.3f}\n", of, *accuracy);
  };
  const auto add_ceiling = [&](const char* of, const std::optional<Ceiling>& best) {
    if (best)
      lines += fmt::format("  {:<32} {:.3f}, loss {:.3f}\n", of, best->accuracy, best->loss);
  };
  const Baseline counted = baselines ? measure_baseline(task) : Baseline();
  add("always the most frequent answer", counted.majority);
  add("from each token alone", counted.own_token);
  add(fmt::format("from windows of up to {} tokens", 2 * kBaselineRadius + 1), counted.window);
  add_ceiling("best possible, each token alone", task.token_ceiling());
  add_ceiling("best possible", task.ceiling(Split::test));
  return lines.empty() ? "" : "\naccuracy on the test split\n" + lines;
}

// Mean squared errors on the test split, one line each.
std::string errors(const Task& task, bool baselines) {
  std::string lines;
  const auto add = [&](const char* of, double error) {
    lines += fmt::format("  {:<32} {:.4g}\n", of, error);
  };
  if (baselines) add("always the mean", measure_variance(task));
  if (const auto best = task.ceiling(Split::test)) add("best possible", best->loss);
  return lines.empty() ? "" : "\nmean squared error on the test split\n" + lines;
}

// Shows a task's best possible scores and its first training examples; with `baselines`, also the
// scores of baselines and rules.
void show_data(const Task& task, bool baselines) {
  try {
    const TaskShape shape = task.shape();
    const bool numbers = shape.target == TargetKind::numbers;
    fmt::print("{}", (numbers ? errors : accuracies)(task, baselines));
    const std::vector<Rule> rules = baselines ? task.rules() : std::vector<Rule>();
    if (!rules.empty()) fmt::print("\non the test split {:<29} accuracy  exact match\n", "");
    for (const Rule& rule : rules) {
      fmt::print("  {:<44} {:>8.4f} {:>12.4f}{}\n", rule.name, rule.accuracy, rule.exact,
                 loss_text(rule));
    }
    fmt::print("\ntraining examples\n");
    const auto train = task.dataset(Split::train);
    for (std::size_t i = 0; i < std::min(kExamples, train->size()); ++i) {
      const Example example = train->get(0, i);
      fmt::print("  {} -> {}\n", input_text(example, shape), target_text(example, shape));
    }
  } catch (const Error& error) {
    fmt::print("\n{}\n", error.what());  // its files are not installed, or not configured
  }
}

// The processor, as "Intel(R) Xeon(R) Processor".
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "processor without a name";  // as on ARM
}

int tasks(const TasksArguments& a) {
  if (a.name.empty()) {
    for (const TaskEntry& task : xgrad::tasks()) fmt::print("{:<16} {}\n", task.name, task.summary);
    return 0;
  }
  const TaskEntry& entry = find_task(a.name);
  fmt::print("{}: {}\n\n", entry.name, entry.summary);
  if (!entry.needs.empty()) fmt::print("needs: {}\n\n", entry.needs);
  if (!entry.theory.empty()) {
    fmt::print("theory: {}\n\nsource: {}\n\nbest possible: {}\n\n", entry.theory, entry.source,
               entry.best);
  }
  std::vector<std::vector<std::string>> rows;
  for (const OptionSpec& option : entry.options) {
    rows.push_back({option.name, to_literal(option.fallback), allowed_values(option), option.help});
  }
  fmt::print("{}", text_table(rows, {Align::left}, "  "));
  for (const std::string& package : entry.debian_packages) {
    fmt::print("\nneeds the Debian package {}\n", package);
  }
  show_data(*entry.make({}, /*seed=*/1), a.baselines);
  return 0;
}

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
  const auto put = [&](const std::string& mark, const std::string& text) {
    for (std::size_t at; (at = script.find(mark)) != script.npos;) {
      script.replace(at, mark.size(), text);
    }
  };
  put("@program@", program_invocation_short_name);
  put("@commands@", joined(names, " "));
  put("@options@", cases);
  put("@choices@", choices);
  put("@with_overrides@", joined(with_overrides, " | "));
  put("@keys@", joined(keys, " "));
  put("@values@", values);
  return script;
}

std::string man_page(const std::vector<Command>& commands) {
  std::string text = std::string(".TH XGRAD 1 \"\" \"xgrad ") + kVersion +
                     "\" \"User Commands\"\n.SH NAME\nxgrad \\- train small transformers "
                     "on CPUs\n.SH SYNOPSIS\n";
  for (const Command& command : commands) {
    text += ".B xgrad " + roff(command.name) + "\n";
    for (const Option& option : command.options) {
      if (option.positional()) text += ".I " + roff(option.names) + "\n";
    }
    text += ".br\n";
  }
  std::string heading;
  for (const Command& command : commands) {
    if (command.heading != heading) text += ".SH \"" + roff(command.heading) + "\"\n";
    heading = command.heading;
    text += ".SS " + roff(command.name) + "\n" + roff(command.help) + ".\n" + described(kHelp);
    for (const Option& option : command.options) text += described(option);
  }
  text +=
      ".SH CONFIGURATION KEYS\nKey, default, allowed values and meaning, by section of the "
      "config.\n.nf\n";
  std::istringstream keys(describe_config());
  for (std::string line; std::getline(keys, line);) text += roff(line) + "\n";
  return text + ".fi\n" +
         ".SH EXIT STATUS\n0: success; 1: a claim, a check or a run of a sweep failed, diff found "
         "a difference, or another error; 2: wrong config or usage; 3: wrong or missing data; 4: "
         "wrong or damaged checkpoint; 5: a loss, gradient or weight is NaN or infinite, a "
         "gradient norm is a spike, or no gradient reaches a parameter; 6: a file cannot be read "
         "or written; 7: another process uses the run directory; 8: out of memory; 128 + n: "
         "stopped by signal n, after saving; 141: the reader of the output has ended.\n";
}

}  // namespace

Command config_command() {
  struct Arguments {
    std::string key;
    bool schema = false;
  };
  const auto a = std::make_shared<Arguments>();
  return Command("config", "Explain the keys of a config",
                 {{"key", "a key or section, such as optim.lr or train; default: all", &a->key},
                  {"--schema", "print a JSON Schema of all keys, for editors", &a->schema,
                   Rules{.excludes = {"key"}}}},
                 [a] {
                   fmt::print("{}", a->schema ? config_schema() : describe_config(a->key));
                   return 0;
                 });
}

Command tasks_command() {
  const auto a = std::make_shared<TasksArguments>();
  return Command(
      "tasks", "List the tasks, or describe one",
      {{"task", "name of a task; default: list all", &a->name},
       {"--baselines", "also score simple baselines on the task's data; may take a minute",
        &a->baselines, Rules{.needs = {"task"}}}},
      [a] { return tasks(*a); });
}

Command info_command() {
  return Command("info", "Show version and machine", {}, [] {
    fmt::print(
        "xgrad      {}\nmachine    {} cores, {}\nprocessor  {}\ncompiled   {}\narithmetic "
        "{}\nthreads    {}\n",
        kVersion, std::thread::hardware_concurrency(), processor(), cpu_name(cpu()),
        cpu_name(compiled_cpu()), arithmetic(false), threads());
    return 0;
  });
}

Command completion_command() {
  const auto shell = std::make_shared<std::string>();
  return Command(
      "completion", "Print the completion script of a shell",
      {{"shell", "the shell", shell.get(), Rules{.required = true, .choices = {"bash"}}}}, [shell] {
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
