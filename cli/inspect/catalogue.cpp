// The commands config, tasks and info, which explain xgrad itself.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

namespace {

constexpr std::size_t kExamples = 3;

void show_ceiling(const char* of, const std::optional<Ceiling>& best) {
  if (!best) return;
  fmt::print("  {:<32} {:.3f}, loss {:.3f}\n", of, best->accuracy, best->loss);
}

void show_accuracies(const Task& task) {
  const Baseline baseline = measure_baseline(task);
  if (!baseline.majority) return;
  fmt::print("\naccuracy on the test split\n");
  fmt::print("  {:<32} {:.3f}\n", "always the most frequent answer", *baseline.majority);
  if (baseline.own_token) {
    fmt::print("  {:<32} {:.3f}\n", "from each token alone", *baseline.own_token);
  }
  if (baseline.window) {
    fmt::print("  {:<32} {:.3f}\n",
               fmt::format("from windows of up to {} tokens", 2 * kBaselineRadius + 1),
               *baseline.window);
  }
  show_ceiling("best possible, each token alone", task.token_ceiling());
  show_ceiling("best possible", task.ceiling(Split::test));
}

void show_errors(const Task& task) {
  fmt::print("\nmean squared error on the test split\n");
  fmt::print("  {:<32} {:.4g}\n", "always the mean", measure_variance(task));
  if (const auto best = task.ceiling(Split::test)) {
    fmt::print("  {:<32} {:.4g}\n", "best possible", best->loss);
  }
}

void show_rules(const std::vector<Rule>& rules) {
  if (rules.empty()) return;
  fmt::print("\non the test split {:<29} accuracy  exact match\n", "");
  for (const Rule& rule : rules) {
    fmt::print("  {:<44} {:>8.4f} {:>12.4f}{}\n", rule.name, rule.accuracy, rule.exact,
               loss_text(rule));
  }
}

// Shows a task's baselines, best possible scores, rules and first training examples.
void show_data(const Task& task) {
  try {
    const TaskShape shape = task.shape();
    shape.target == TargetKind::numbers ? show_errors(task) : show_accuracies(task);
    show_rules(task.rules());
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

// The machine, to be quoted with timings, as "2 cores, Intel(R) Xeon(R) Processor".
std::string machine() {
  std::string model = "processor without a name";  // as on ARM
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name") || line.find(": ") == std::string::npos) continue;
    model = line.substr(line.find(": ") + 2);
    break;
  }
  return fmt::format("{} cores, {}", std::thread::hardware_concurrency(), model);
}

int tasks(const std::string& name) {
  if (name.empty()) {
    for (const TaskEntry& task : xgrad::tasks()) fmt::print("{:<16} {}\n", task.name, task.summary);
    return 0;
  }
  const TaskEntry& entry = find_task(name);
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
  show_data(*entry.make({}, /*seed=*/1));
  return 0;
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
                  {"--schema",
                   "print a JSON Schema of all keys, for editors",
                   &a->schema,
                   {.excludes = {"key"}}}},
                 [a] {
                   fmt::print("{}", a->schema ? config_schema() : describe_config(a->key));
                   return 0;
                 });
}

Command tasks_command() {
  const auto name = std::make_shared<std::string>();
  return Command("tasks", "List the tasks, or describe one",
                 {{"task", "name of a task; default: list all", name.get()}},
                 [name] { return tasks(*name); });
}

Command info_command() {
  return Command("info", "Show version and machine", {}, [] {
    fmt::print(
        "xgrad      {}\nmachine    {}\nprocessor  {}\ncompiled   {}\narithmetic {}\nthreads    "
        "{}\n",
        kVersion, machine(), cpu_name(cpu()), cpu_name(compiled_cpu()), arithmetic(false),
        threads());
    return 0;
  });
}

}  // namespace xgrad::commands
