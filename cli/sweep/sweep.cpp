#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/cli/sweep/children.hpp>
#include <xgrad/cli/sweep/claims.hpp>
#include <xgrad/cli/sweep/plan.hpp>
#include <xgrad/cli/sweep/queue.hpp>
#include <xgrad/cli/sweep/results.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/config/rules.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/metrics/figure_text.hpp>
#include <xgrad/train/metrics/history.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/console.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/results.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

struct Arguments : ConfigArguments {
  std::vector<std::string> over;     // keys with their values, as "optim.lr=[1e-3, 3e-4]"
  std::size_t random = 0, jobs = 0;  // 0: not given
  bool halving = false, worker = false;
  std::string out;
};

const std::string kSeed = "train.seed";

// A setting without the seed. Each round trains it once per seed.
struct Trial {
  Setting setting;
  Config config = {};                                      // with the setting, at full length
  std::vector<std::string> runs = {};                      // directories of its runs in this round
  double score = std::numeric_limits<double>::infinity();  // mean validation loss
};

std::uint64_t part_of(std::uint64_t steps, double part) {
  return std::max<std::uint64_t>(1, std::uint64_t(std::llround(part * double(steps))));
}

// Overrides steps and schedule so that the whole schedule fits into `part` of the steps.
void shorten(Setting& setting, const Config& config, double part) {
  const auto set = [&](const char* key, std::uint64_t steps) {
    setting.emplace_back(key, std::to_string(steps));
  };
  set("train.steps", part_of(config.train.steps, part));
  set("schedule.warmup", std::uint64_t(part * double(config.schedule.warmup)));
  if (config.schedule.name == "plateau" && config.train.evaluate_every > 0) {  // counts validations
    set("train.evaluate_every", part_of(config.train.evaluate_every, part));
  }
  if (config.schedule.name == "step") set("schedule.every", part_of(config.schedule.every, part));
}

// The progress line of a round.
class Display {
 public:
  explicit Display(std::size_t total) : console_(false, "") { line_.total = total; }

  void show(const std::vector<EndedChild>& ended, std::size_t running, std::size_t left) {
    for (; seen_ < ended.size(); ++seen_) {
      const std::string& log = ended[seen_].log;
      consider(log.substr(0, log.rfind('.')));
    }
    line_.running = running;
    line_.done = line_.total - running - left;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    if (line_.done > 0) {
      line_.left = spent.count() * double(line_.total - line_.done) / double(line_.done);
    }
    console_.runs(line_);
  }
  void clear() { console_.runs({}); }

 private:
  void consider(const std::string& run) {
    if (!holds(run, "config.toml")) return;
    const RunHistory history = read_run(run);
    const MetricsRow* row = history.last("validation");
    const auto loss = row ? row->number("loss") : std::nullopt;
    if (loss) line_.best = std::min(line_.best.value_or(*loss), *loss);
  }

  Console console_;
  Console::Runs line_;
  std::size_t seen_ = 0;  // children that ended
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class Sweep {
 public:
  explicit Sweep(const Arguments& arguments)
      : arguments_(arguments),
        out_(arguments.out.empty() ? "runs/sweep-" + fs::path(arguments.config).stem().string()
                                   : arguments.out) {
    if (arguments.out.empty()) detail::check_named_after(arguments.config, out_);
    std::vector<Axis> axes;
    for (const std::string& text : arguments.over) {
      const auto [key, values] = detail::parse_axis(text);
      const auto same = [&k = key](const Axis& a) { return a.key == k; };
      xgrad::check<ConfigError>(!same(seeds_) && std::none_of(axes.begin(), axes.end(), same),
                                "--over: ", key, " is given twice");
      (key == kSeed ? seeds_ : axes.emplace_back()) = {key, values};
    }
    xgrad::check<ConfigError>(seeds_.values.size() <= kMostSeeds,
                              "--over train.seed: give at most ", kMostSeeds, " seeds");
    check_names(axes);
    const Config base = load_config(arguments.config, arguments.overrides);
    std::vector<Setting> settings = grid(axes);
    if (arguments.random > 0) settings = drawn(settings, arguments.random, base.train.seed);
    for (Setting& setting : settings) {
      Trial& trial = trials_.emplace_back(Trial{std::move(setting)});
      trial.config = load_config(arguments.config, overrides(trial.setting));
      xgrad::check<ConfigError>(!arguments.halving || trial.config.train.steps > 0,
                                "sweep: --halving needs train.steps");
    }
  }

  // Trains all settings, with halving in rounds of fewer settings and more steps. Returns 0 when
  // every run succeeded, 128 + n when signal n ended the sweep, else 1.
  int run() {
    bool good = true;
    const std::vector<double> parts =
        arguments_.halving ? rungs(trials_.size()) : std::vector<double>{1};
    for (const double part : parts) {
      good = train(part) && good;
      if (signal_ != 0) {
        fmt::print(stderr, "stopped; run the same command to continue\n");
        return 128 + signal_;
      }
      const auto better = [](const Trial& a, const Trial& b) { return a.score < b.score; };
      std::stable_sort(trials_.begin(), trials_.end(), better);
      fmt::print("{}{}\n", arguments_.halving ? length(part) : "", table());
      std::fflush(stdout);
      if (part < 1) trials_.resize((trials_.size() + 1) / 2);
    }
    report();
    return good ? 0 : failure();
  }

 private:
  // Two runs with the same name would share a directory.
  void check_names(std::vector<Axis> axes) const {
    if (!seeds_.values.empty()) axes.push_back(seeds_);
    std::set<std::string> names;
    for (const Setting& setting : grid(axes)) {
      const std::string name = directory_name(setting);
      xgrad::check<ConfigError>(names.insert(name).second, "--over: two runs have the name ", name);
    }
  }

  std::vector<std::string> overrides(const Setting& setting) const {
    std::vector<std::string> all = arguments_.overrides;
    for (const auto& [key, value] : setting) all.push_back(key + "=" + value);
    return all;
  }

  // The number of steps of a round, or their range, since a setting may change train.steps.
  std::string length(double part) const {
    std::vector<std::uint64_t> steps;
    for (const Trial& trial : trials_) steps.push_back(part_of(trial.config.train.steps, part));
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    return *least == *most ? fmt::format("{} steps\n", *least)
                           : fmt::format("{} to {} steps\n", *least, *most);
  }

  // Loads every config first, so that a wrong one is reported before any run starts.
  bool train(double part) {
    std::vector<Job> jobs;
    for (Trial& trial : trials_) {
      trial.runs.clear();
      const std::vector<std::string> seeds =
          seeds_.values.empty() ? std::vector<std::string>{""} : seeds_.values;
      for (const std::string& seed : seeds) {
        Setting setting = trial.setting;
        if (!seed.empty()) setting.emplace_back(kSeed, seed);
        if (part < 1) shorten(setting, trial.config, part);
        jobs.push_back({out_ + "/" + directory_name(setting), overrides(setting)});
        trial.runs.push_back(jobs.back().directory);
        runs_.push_back({jobs.back().directory, std::move(setting)});
      }
    }
    const std::size_t count = jobs.size();
    Queue queue(arguments_.config, std::move(jobs), arguments_.worker);
    make_directory(out_);
    if (arguments_.worker) check_claims_work(out_);
    const auto cores = std::size_t(threads());
    const std::size_t parallel =
        std::clamp<std::size_t>(queue.left(), 1, arguments_.jobs > 0 ? arguments_.jobs : cores);
    const std::size_t threads_of_run = std::max<std::size_t>(1, cores / parallel);
    fmt::print(stderr, "{} runs in {}, {} of them to train\n", count, out_, queue.left());
    Display display(queue.left());
    const auto [ended, signal] = run_children(
        parallel, [&] { return queue.next(threads_of_run); },
        [&](const std::vector<EndedChild>& so_far, std::size_t running) {
          display.show(so_far, running, queue.left());
        });
    display.clear();
    if (arguments_.worker) {
      fmt::print(stderr, "this worker did {} run{}\n", ended.size(), ended.size() == 1 ? "" : "s");
    }
    signal_ = signal;
    if (signal != 0) return false;
    bool good = !arguments_.worker || every_run_finished();
    for (const EndedChild& child : ended) {
      if (child.code == 0) continue;
      good = false;
      fmt::print(stderr, "exit code {}: see {}\n", child.code, child.log);
      codes_[child.log] = child.code;
    }
    for (Trial& trial : trials_)
      trial.score = mean_of(trial, "validation", "loss")
                        .value_or(Interval{std::numeric_limits<double>::infinity(), 0})
                        .mean;
    return good;
  }

  // Whether it did, here or on another machine.
  bool every_run_finished() const {
    return std::all_of(trials_.begin(), trials_.end(), [&](const Trial& trial) {
      return std::all_of(trial.runs.begin(), trial.runs.end(), [](const std::string& run) {
        return holds(run, "config.toml") && read_run(run).state == RunHistory::State::finished;
      });
    });
  }

  // The mean over seeds; nullopt when a run is unfinished or lacks the metric.
  std::optional<Interval> mean_of(const Trial& trial, const std::string& split,
                                  const std::string& metric) const {
    std::vector<double> values;
    for (const std::string& run : trial.runs) {
      if (!holds(run, "config.toml")) return std::nullopt;
      const RunHistory record = read_run(run);
      const MetricsRow* row = record.last(split);
      const auto value = row ? row->number(metric) : std::nullopt;
      if (!value || record.state != RunHistory::State::finished) return std::nullopt;
      values.push_back(*value);
    }
    return student_interval(values);
  }

  std::string table() const {
    const std::vector<std::pair<std::string, std::string>> figures = {
        {"validation", "loss"}, {"validation", figure()}, {"test", figure()}};
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& [key, value] : trials_.front().setting) rows[0].push_back(key);
    for (const auto& [split, metric] : figures) rows[0].push_back(split + " " + metric);
    for (const Trial& trial : trials_) {
      auto& row = rows.emplace_back();
      for (const auto& [key, value] : trial.setting) row.push_back(value);
      for (const auto& [split, metric] : figures) {
        const auto mean = mean_of(trial, split, metric);
        row.push_back(
            !mean ? "failed"
                  : figure_text(mean->mean, trial.runs.size() == 1 ? NAN : mean->half_width));
      }
    }
    const std::string what =
        seeds_.values.size() > 1
            ? fmt::format("mean of {} seeds ± 95 % interval\n", seeds_.values.size())
            : "";
    return text_table(rows) + what;
  }

  void report() const {
    std::vector<std::string> runs;
    for (const Trial& trial : trials_) {
      for (const std::string& run : trial.runs) {
        if (holds(run, "config.toml")) runs.push_back(run);
      }
    }
    if (runs.empty() || (arguments_.worker && is_reported(runs))) return;
    std::vector<SweptRun> begun;  // of every round
    std::copy_if(runs_.begin(), runs_.end(), std::back_inserter(begun),
                 [](const SweptRun& run) { return holds(run.directory, "config.toml"); });
    const SweepFiles files = sweep_files(begun);
    publish_over(out_, "results.csv", files.csv);
    publish_over(out_, "results.json", files.json);
    xgrad::write_report(out_, "report.html", runs);
    fmt::print(stderr, "{}/report.html shows the runs, results.csv and results.json list them\n",
               out_);
  }

  // The exit code after failures: 1, or that of the first run if no run could begin. Then there are
  // no results, so its message is printed, too.
  int failure() const {
    const auto first = codes_.find(runs_.front().directory + ".log");
    const auto begun = [](const SweptRun& run) { return holds(run.directory, "config.toml"); };
    if (first == codes_.end() || std::any_of(runs_.begin(), runs_.end(), begun)) return 1;
    print_error(read_file(first->first));
    return first->second;
  }

  // Whether another worker has written the page after the last run ended.
  bool is_reported(const std::vector<std::string>& runs) const {
    std::error_code error;
    const auto written = fs::last_write_time(out_ + "/report.html", error);
    return !error && std::all_of(runs.begin(), runs.end(), [&](const std::string& run) {
      const auto ended = fs::last_write_time(run + "/report.html", error);
      return !error && ended <= written;
    });
  }

  // The name of the main metric: the first one after the loss.
  std::string figure() const {
    for (const Trial& trial : trials_) {
      for (const std::string& run : trial.runs) {
        if (!holds(run, "config.toml")) continue;
        const RunHistory record = read_run(run);
        const MetricsRow* row = record.last("validation");
        if (row && row->numbers.size() > 2) return row->numbers[2].first;
      }
    }
    return "accuracy";
  }

  const Arguments& arguments_;
  std::string out_;
  Axis seeds_;
  int signal_ = 0;  // the signal that asked to stop; 0: none
  std::vector<Trial> trials_;
  std::vector<SweptRun> runs_;        // of every round so far
  std::map<std::string, int> codes_;  // exit codes of runs that failed, by their logs
};

}  // namespace

// Trains a config with every combination of values. Does not repeat finished runs.
Command sweep_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "sweep", "Train a config with many combinations of values",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--over", "KEY=[VALUES], as in optim.lr=[1e-3, 3e-4]; may be repeated", &a->over,
        kRequired},
       {"--random", "train this many combinations, drawn at random", &a->random, kPositive},
       {"--halving", "short runs of all first, then longer ones of the better half, and so on",
        &a->halving},
       {"--jobs", "number of parallel runs, which share the cores; default: one per core", &a->jobs,
        kPositive},
       {"--out", "directory of the runs; default: runs/sweep-NAME for NAME.toml", &a->out,
        kNewPath},
       {"--worker", "share the runs with other workers in the same --out, on any machines",
        &a->worker}},
      [a] { return Sweep(*a).run(); });
}

}  // namespace xgrad::commands
