#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/run/results.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::vector<std::string> configs, overrides;
  std::size_t seeds = 1;
  std::string table;
  bool quiet = false;
};

// A config file, loaded once per seed.
struct Job {
  std::string path;
  std::vector<Config> configs;
};

// Reads all configs first, so that a wrong one is reported before another trains for hours.
std::vector<Job> read_jobs(const Arguments& arguments) {
  std::vector<Job> jobs;
  for (const std::string& path : arguments.configs) {
    Job job{path, {load_config(path, arguments.overrides)}};
    check_run_name(job.configs[0], path);
    while (job.configs.size() < arguments.seeds) {
      job.configs.push_back(job.configs.back());
      ++job.configs.back().train.seed;
      job.configs.back().expect.sha256.reset();
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Trains the config with each seed. Returns the signal that stopped it, or 0.
int train_each(const Job& job, bool quiet, ConfigResult& result) {
  result.baseline = measure_baseline(*make_task(job.configs[0]));
  for (const Config& config : job.configs) {
    Outcome outcome = start_run(config, job.path, {quiet});
    if (outcome.signal != 0) return outcome.signal;
    if (const std::optional<double> most = config.expect.seconds) {
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

// Writes the table of results to a file. Called at first without results: keeps what the file has
// then, and throws if it cannot be written, or is no such table, before a config trains for hours.
void write_table(const std::string& path, const std::vector<ConfigResult>& results) {
  if (path.empty()) return;
  constexpr std::uint64_t kMostTable = 1 << 20;  // bytes
  const auto [parent, name] = folder_and_name(path);
  const Folder folder(parent);
  std::string table = results_markdown(results);
  if (results.empty() && folder.holds(name)) {
    const std::string heads = table.substr(0, table.find('\n'));
    table = folder.read(name, kMostTable);
    xgrad::check<IoError>(table.starts_with(heads), path,
                          ": holds something other than a table of results, so it is not replaced");
  }
  publish_over(folder, name, table);
}

// Trains each config and checks the claims in its [expect]. Returns 1 when a claim fails. An error
// in one config does not stop the others; the first error is thrown at the end.
int check(const Arguments& arguments) {
  const std::vector<Job> jobs = read_jobs(arguments);
  std::vector<ConfigResult> results;
  std::exception_ptr first_failure;
  write_table(arguments.table, results);
  for (const Job& job : jobs) {
    results.push_back({.name = std::filesystem::path(job.path).stem().string()});
    try {
      const int signal = train_each(job, arguments.quiet, results.back());
      if (signal != 0) return 128 + signal;
    } catch (const std::exception& error) {
      fmt::print("{}\nfailed  {}\n", job.path, error.what());
      const std::string message = error.what();
      results.back().failure = message.substr(0, message.find('\n'));  // a table row is one line
      if (!first_failure) first_failure = std::current_exception();
    }
    write_table(arguments.table, results);  // a stopped check keeps its results
  }
  fmt::print("\n{}", results_text(results));
  if (first_failure) std::rethrow_exception(first_failure);
  return std::all_of(results.begin(), results.end(), [](const auto& r) { return r.holds(); }) ? 0
                                                                                              : 1;
}

}  // namespace

Command check_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "check", "Train configs and check their [expect] claims",
      {{"configs", "TOML files", &a->configs, kRequired},
       {"overrides", "KEY=VALUE overrides each config, as in train.precision=bf16", &a->overrides},
       {"--seeds", "train each with this many seeds; show the means", &a->seeds,
        Rules{.range = {{1, kMostSeeds}}}},
       {"--table", "write results to this file, as a Markdown table", &a->table, kNewPath},
       {"-q,--quiet", kQuiet, &a->quiet}},
      [a] { return check(*a); }, /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
