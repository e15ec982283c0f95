// The commands train, check, resume, lr-find and sweep.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/trial_runs.hpp>
#include <xgrad/train/logs/console.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/run/results.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/sweep/plan.hpp>
#include <xgrad/train/sweep/processes.hpp>
#include <xgrad/train/sweep/sweep.hpp>

namespace xgrad::commands {

namespace {

struct TrainArguments : ConfigArguments {
  bool quiet = false, json = false, overfit_batch = false, dry_run = false;
};

int train(const TrainArguments& a) {
  return report(start_run(a.load(), a.config, {a.quiet}), a.json);
}

int overfit(const TrainArguments& a) {
  const Overfit result = overfit_batch(a.load(), [&](const StepReport& report) {
    if (a.quiet || report.step % 100 != 0) return;
    fmt::print(stderr, "step {:>5}  loss {:.6f}\n", report.step, report.loss);
  });
  fmt::print("{}: one batch of {} examples, loss {:.2e} after {} steps\n",
             result.memorised ? "memorised" : "NOT memorised", result.examples, result.last.loss,
             result.last.step);
  return result.memorised ? 0 : 1;
}

// Trains two steps, evaluates, writes a checkpoint and reads it back. Leaves no files behind.
int dry_run(const TrainArguments& a) {
  const Config config = a.load();
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    fmt::print("{} parameters, {} steps\n", grouped(trainer.parameters().count()),
               grouped(trainer.total_steps()));
    for (int i = 0; i < 2; ++i) {
      const StepReport report = trainer.train_step();
      fmt::print("step {}  loss {:.4f}\n", report.step, report.loss);
    }
    fmt::print("validation  {}\n", summary(trainer.evaluate(Split::validation)));
    const TemporaryFolder directory;
    publish(directory.path(), checkpoint_name(2), to_hdf5(trainer.capture()));
    trainer.restore(load_checkpoint(directory / checkpoint_name(2)));
    fmt::print("a checkpoint was saved and read back; no files are left\n");
    return 0;
  });
}

struct CheckArguments {
  std::vector<std::string> configs, overrides;
  std::size_t seeds = 1, jobs = 1;
  std::string table;
  bool quiet = false;
};

// A config file, loaded once per seed.
struct Job {
  std::string path;
  std::vector<Config> configs;
};

// Reads all configs first, so that a wrong one is reported before another trains for hours.
std::vector<Job> read_jobs(const CheckArguments& arguments) {
  std::vector<Job> jobs;
  for (const std::string& path : arguments.configs) {
    auto& [name, configs] = jobs.emplace_back(Job{path, {load_config(path, arguments.overrides)}});
    check_run_name(configs[0], path);
    while (configs.size() < arguments.seeds) {
      configs.push_back(configs.back());
      ++configs.back().train.seed;
      configs.back().expect.sha256.reset();
    }
  }
  return jobs;
}

// Trains the config with each seed. Returns the signal that stopped it, or 0. Does not judge the
// training time if other runs train at the same time.
int train_each(const Job& job, const CheckArguments& a, ConfigResult& result) {
  result.baseline = measure_baseline(*make_task(job.configs[0]));
  for (const Config& config : job.configs) {
    Outcome outcome = start_run(config, job.path, {a.quiet});
    if (outcome.signal != 0) return outcome.signal;
    if (const std::optional<double> most = config.expect.seconds; most && a.jobs == 1) {
      outcome.verdicts.push_back(judge_seconds(*most, outcome.seconds));
    }
    fmt::print("{}{}\n", job.path,
               job.configs.size() > 1 ? fmt::format(", seed {}", config.train.seed) : "");
    report(outcome, /*json=*/false);
    std::fflush(stdout);
    result.outcomes.push_back(std::move(outcome));
  }
  return 0;
}

// Writes the table of results to a file. The first call comes before training and has no results:
// it leaves the file as it is, but throws if the file cannot be written or holds something else, so
// that the error does not come after hours of training.
void write_table(const std::string& path, const std::vector<ConfigResult>& results) {
  if (path.empty()) return;
  constexpr std::uint64_t kMostTable = 1 << 20;  // bytes
  const auto [parent, name] = folder_and_name(path);
  const Folder folder(parent);
  std::string table = path.ends_with(".jsonl") ? results_json(results) : results_markdown(results);
  if (results.empty() && folder.holds(name)) {
    const std::string heads = table.substr(0, table.find('\n'));
    table = folder.read(name, kMostTable);
    xgrad::check<IoError>(table.starts_with(heads), path,
                          ": holds something other than a table of results, so it is not replaced");
  }
  publish_over(folder, name, table);
}

// The arguments of a process that checks a single config.
std::vector<std::string> words_for(const CheckArguments& a, const std::string& config,
                                   const std::string& table) {
  const std::size_t cores = std::size_t(threads()) / std::min(a.jobs, a.configs.size());
  std::vector<std::string> words = {
      "check", config, fmt::format("train.threads={}", std::max<std::size_t>(1, cores))};
  words.insert(words.end(), a.overrides.begin(), a.overrides.end());
  for (const std::string& word :
       std::vector<std::string>{"--seeds", fmt::to_string(a.seeds), "--jobs",
                                fmt::to_string(a.jobs), "--table", table, "--quiet"}) {
    words.push_back(word);
  }
  return words;
}

// Shows the output of a process that checked a config, and returns its results.
ConfigResult show_check(const std::string& config, const std::string& log, const std::string& table,
                        int code) {
  ConfigResult result{.name = std::filesystem::path(config).stem().string()};
  if (std::filesystem::exists(table)) result.cells = parse_row(read_file(table));
  if (result.cells.empty()) {
    result.failure = fmt::format("exit code {}", code);
  } else {
    result.cells.front() = result.name;  // JSON keeps no bytes that are not UTF-8
  }
  std::string said = read_file(log);
  // The log holds its results, then this table of one row, then its errors.
  const std::string shown = "\n" + results_text({result});
  if (const std::size_t at = said.rfind(shown); at != said.npos) {
    fmt::print("{}", said.substr(0, at));
    std::fflush(stdout);
    said.erase(0, at + shown.size());
  }
  print_error(said);
  return result;
}

// Does the work of check() with a process for each config, several at a time. Shows the results in
// the order of the configs.
int check_at_once(const CheckArguments& a) {
  const std::size_t all = a.configs.size();
  const TemporaryFolder folder;
  const auto file = [&](std::size_t i, const char* end) {
    return folder / (fmt::to_string(i) + end);
  };
  std::vector<ConfigResult> results;
  std::vector<std::optional<int>> codes(all);  // exit codes of ended processes
  Processes processes;
  const Signals signals;
  Console console(a.quiet, "");
  Console::Runs line{.total = all};
  int signal = 0, code = 0;
  for (std::size_t begun = 0; processes.size() > 0 || (signal == 0 && results.size() < all);) {
    if (signal == 0 && (signal = signals.stop()) != 0) processes.signal(signal);
    if (signal == 0 && begun < all && processes.size() < a.jobs) {
      const auto words = words_for(a, a.configs[begun], file(begun, ".jsonl"));
      processes.start(fmt::to_string(begun), "", words, claim(file(begun, ".log")).value());
      ++begun;
    } else if (const auto ended = processes.reap()) {
      codes[std::stoul(ended->first)] = ended->second;
      ++line.done;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    line.running = processes.size();
    console.runs(line);
    for (std::size_t i = results.size(); signal == 0 && i < all && codes[i]; ++i) {
      results.push_back(show_check(a.configs[i], file(i, ".log"), file(i, ".jsonl"), *codes[i]));
      write_table(a.table, results);
      if (code <= 1 && *codes[i] != 0) code = *codes[i];  // errors count more than claims
    }
  }
  if (signal != 0) return 128 + signal;
  fmt::print("\n{}", results_text(results));
  return code;
}

// Trains each config and checks the claims in its [expect]. Returns 1 when a claim fails. An error
// in one config does not stop the others; the first error is thrown at the end.
int check(const CheckArguments& arguments) {
  const std::vector<Job> jobs = read_jobs(arguments);
  if (arguments.jobs > 1 && jobs.size() > 1) {
    xgrad::check<ConfigError>(ranks().size() == 1,
                              "--jobs: several processes already share the work");
    write_table(arguments.table, {});
    return check_at_once(arguments);
  }
  std::vector<ConfigResult> results;
  std::exception_ptr first_failure;
  write_table(arguments.table, results);
  for (const Job& job : jobs) {
    results.push_back({.name = std::filesystem::path(job.path).stem().string()});
    try {
      if (const int signal = train_each(job, arguments, results.back())) return 128 + signal;
    } catch (const std::exception& error) {
      const std::string message = error.what();
      fmt::print("{}\nfailed  {}\n", job.path, message);
      results.back().failure = message.substr(0, message.find('\n'));  // a table row is one line
      if (!first_failure) first_failure = std::current_exception();
    }
    write_table(arguments.table, results);  // now, so that a stopped check keeps its results
  }
  fmt::print("\n{}", results_text(results));
  std::fflush(stdout);  // before the error that main() prints
  if (first_failure) std::rethrow_exception(first_failure);
  return std::ranges::all_of(results, &ConfigResult::holds) ? 0 : 1;
}

}  // namespace

Command train_command() {
  const auto a = std::make_shared<TrainArguments>();
  return Command(
      "train", "Train the model of a config in a new run directory",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json},
       {"--overfit-batch", "as a check, only memorise one batch; leaves no files",
        &a->overfit_batch},
       {"--dry-run", "as a check, only train two steps, evaluate and save; leaves no files",
        &a->dry_run, Rules{.excludes = {"--overfit-batch"}}}},
      [a] {
        return (a->overfit_batch ? overfit : a->dry_run ? dry_run : train)(*a);
      },
      /*on_all_ranks=*/true);
}

Command check_command() {
  const auto a = std::make_shared<CheckArguments>();
  return Command(
      "check", "Train configs and check the results against their [expect] sections",
      {{"configs", "TOML files", &a->configs, kRequired},
       {"overrides", "KEY=VALUE overrides each config, as in train.precision=bf16", &a->overrides},
       {"--seeds", "train each config with this many seeds and show the means", &a->seeds,
        Rules{.range = {{1, kMostSeeds}}}},
       {"--jobs",
        "number of configs to train in parallel; if above 1, expect.seconds is not judged",
        &a->jobs, kPositive},
       {"--table",
        "write results to this file, as a Markdown table, or as JSON Lines if it is NAME.jsonl",
        &a->table, kNewPath},
       {"-q,--quiet", kQuiet, &a->quiet}},
      [a] { return check(*a); }, /*on_all_ranks=*/true);
}

Command resume_command() {
  struct Arguments {
    std::string run;  // a run directory or one of its checkpoints
    std::vector<std::string> overrides, allow_change;
    bool quiet = false, json = false;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "resume", "Continue a run, bit for bit as if it had never stopped",
      {{"run", kRun, &a->run, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--allow-change", "allow an override to change this key of the run; may be repeated",
        &a->allow_change, Rules{.value = "KEY"}},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json}},
      [a] {
        return report(resume_run(a->run, a->overrides, a->allow_change, {a->quiet}), a->json);
      },
      /*on_all_ranks=*/true);
}

Command lr_find_command() {
  struct Arguments : ConfigArguments {
    double from = 1e-6, to = 1;
    std::size_t steps = 150;
  };
  const auto a = std::make_shared<Arguments>();
  return Command("lr-find", "Suggest a learning rate from a short test run",
                 {{"config", kConfig, &a->config, kRequired},
                  {"overrides", kOverrides, &a->overrides},
                  {"--from", "the lowest learning rate", &a->from, kPositive},
                  {"--to", "the highest learning rate", &a->to, kPositive},
                  {"--steps", "number of steps from --from to --to", &a->steps,
                   Rules{.range = {{20, 1000000}}}}},
                 [a] {
                   xgrad::check<ConfigError>(a->from < a->to, "lr-find: --from ", a->from,
                                             " is not below --to ", a->to);
                   const auto tried = try_rates(a->load(), a->from, a->to, a->steps);
                   fmt::print("{}\nthe loss falls fastest at optim.lr={:.1e}\n", to_text(tried),
                              steepest(tried));
                   return 0;
                 });
}

Command sweep_command() {
  const auto a = std::make_shared<SweepOptions>();
  return Command(
      "sweep", "Train a config with many combinations of values",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--over", "KEY=[VALUES], as in optim.lr=[1e-3, 3e-4]; may be repeated", &a->over,
        kRequired},
       {"--random", "train this many combinations, drawn at random", &a->random, kPositive},
       {"--halving",
        "successive halving: train all combinations briefly, then the better half longer, and so "
        "on",
        &a->halving},
       {"--jobs", "number of parallel runs, which share the cores; default: one per core", &a->jobs,
        kPositive},
       {"--out", "directory of the runs; default: runs/sweep-NAME for NAME.toml", &a->out,
        kNewPath},
       {"--worker",
        "share the runs with other processes that have the same --out, also on other machines",
        &a->worker}},
      [a] {
        const SweepEnd end = run_sweep(*a, [](const std::string& table) {
          fmt::print("{}", table);
          std::fflush(stdout);
        });
        print_error(end.message);
        return end.exit_code;
      });
}

}  // namespace xgrad::commands
