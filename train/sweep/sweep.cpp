#include <xgrad/train/sweep/sweep.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/logs/console.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/results.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/sweep/plan.hpp>
#include <xgrad/train/sweep/processes.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

// A TOML value as JSON. Values that JSON does not have, such as dates, become text.
Json value_of(const std::string& literal) {
  const Json value = Json::parse(literal, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() || value.is_structured() ? Json(literal) : value;
}

Json object_of(const SweptRun& run, const RunHistory& history) {
  Json object{{"run", fs::path(run.directory).filename().string()},
              {"state", to_string(history.state)},
              {"step", history.last_step},
              {"seconds", history.seconds}};
  for (const auto& [key, value] : run.setting) object[key] = value_of(value);
  for (const std::string split : {"validation", "test"}) {
    const MetricsRow* row = history.last(split);
    if (row == nullptr) continue;
    for (const auto& [name, number] : row->numbers) object[split + "_" + name] = number;
  }
  return object;
}

// Spreadsheets execute a cell that begins like a formula. An apostrophe before it makes it text
// (OWASP, CSV Injection).
std::string cell(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (value.is_string() && text.find_first_of("=+-@\t\r") == 0) text.insert(0, "'");
  return text;
}

std::string csv_of(const Json& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects) {
    for (const auto& [name, value] : object.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::string> heads, cells(names.size());
  for (const std::string& name : names) heads.push_back(cell(name));
  std::string text = csv_line(heads) + "\r\n";
  for (const Json& object : objects) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      cells[i] = object.contains(names[i]) ? cell(object[names[i]]) : "";
    }
    text += csv_line(cells) + "\r\n";
  }
  return text;
}

std::optional<double> number_of(const RunHistory& run, const std::string& split,
                                const std::string& metric) {
  const MetricsRow* row = run.last(split);
  return row == nullptr ? std::nullopt : row->number(metric);
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const std::function<void(const std::string&)>& show)
      : options_(options),
        show_(show),
        plan_(plan_sweep(options)),
        trials_(plan_.trials),
        console_(options.quiet, "") {}

  // With halving, trains in rounds of fewer settings and more steps.
  SweepEnd run() {
    for (const double part : rungs(options_.halving ? trials_.size() : 1)) {
      if (const int signal = train(part)) {
        console_.line("stopped; run the same command to continue");
        return {128 + signal};
      }
      std::ranges::stable_sort(trials_, {}, &Trial::score);
      show_((options_.halving ? length(part) : "") + table() + "\n");
      if (part < 1) trials_.resize((trials_.size() + 1) / 2);
    }
    report();
    return good_ ? SweepEnd{} : failure();
  }

 private:
  // The number of steps of a round, or their range, since a setting may change train.steps.
  std::string length(double part) const {
    const auto [a, b] = std::ranges::minmax_element(
        trials_, {}, [](const Trial& trial) { return trial.config.train.steps; });
    const auto least = part_of(a->config.train.steps, part),
               most = part_of(b->config.train.steps, part);
    return (least == most ? "" : fmt::format("{} to ", least)) + fmt::format("{} steps\n", most);
  }

  // Returns the signal that ended the round, or 0. Loads every config first, so that a wrong one is
  // reported before any run starts. Skips finished runs. A worker also skips runs that failed
  // elsewhere.
  int train(double part) {
    const std::size_t begin = runs_.size();
    for (const Trial& trial : trials_) {
      for (SweptRun& run : runs_of(plan_, trial, part)) runs_.push_back(std::move(run));
    }
    const std::vector<SweptRun> runs(runs_.begin() + std::ptrdiff_t(begin), runs_.end());
    for (const SweptRun& run : runs) {
      const Config wanted = load_config(options_.config, overrides_of(options_, run.setting));
      if (auto history = history_of(run.directory)) {
        follow_own_data(history->config, run.directory);
        const auto other = differences(history->config, wanted);
        check<ConfigError>(other.empty(), run.directory, " is a run of another config (",
                           other.empty() ? "" : to_string(other[0]), "); choose another --out");
      }
      if (!is_done(run)) left_.push_back(run);
    }
    make_directory(plan_.out);
    if (options_.worker) check_claims_work(plan_.out);
    console_.line(
        fmt::format("{} runs in {}, {} of them to train", runs.size(), plan_.out, left_.size()));
    ended_.clear();
    const int signal = train_left();
    const std::size_t did = ended_.size();
    if (options_.worker) {
      console_.line(fmt::format("this worker did {} run{}", did, did == 1 ? "" : "s"));
    }
    if (signal != 0) return signal;
    for (const auto& [directory, code] : ended_) {
      if (code == 0) continue;
      console_.line(fmt::format("exit code {}: see {}.log", code, directory));
      codes_[directory] = code;
    }
    read(runs);
    return 0;
  }

  bool is_done(const SweptRun& run) const {
    const auto history = history_of(run.directory);
    return history && (history->state == RunHistory::State::finished ||
                       (options_.worker && history->state == RunHistory::State::failed));
  }

  // Starts or resumes runs until all are done, and shows the progress. A worker also waits for runs
  // that other workers train. A signal is passed on to the processes, and no more are started.
  // Returns the signal, or 0.
  int train_left() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kPause(5), kWait(500);  // for runs of other workers
    const auto cores = std::size_t(threads());
    const std::size_t parallel =
        std::clamp<std::size_t>(left_.size(), 1, options_.jobs > 0 ? options_.jobs : cores);
    const Signals signals;
    int signal = 0;
    const Clock::time_point begin = Clock::now();
    Clock::time_point ask = begin;
    Console::Runs line{.total = left_.size()};
    while (running_.size() > 0 || (signal == 0 && !left_.empty())) {
      if (signal == 0) {
        signal = signals.stop();
        if (signal == 0 && options_.stop && options_.stop()) signal = SIGTERM;
        if (signal != 0) running_.signal(signal);
      }
      if (signal == 0 && running_.size() < parallel && Clock::now() >= ask) {
        if (start_next(std::max<std::size_t>(1, cores / parallel))) continue;
        ask = Clock::now() + kWait;
      }
      if (const auto ended = running_.reap()) {
        ended_.push_back(*ended);
        const auto history = history_of(ended->first);
        const auto loss = history ? number_of(*history, "validation", "loss") : std::nullopt;
        if (loss) line.best = std::min(line.best.value_or(*loss), *loss);
        continue;
      }
      line.running = running_.size();
      line.done = line.total - line.running - left_.size();
      const std::chrono::duration<double> spent = Clock::now() - begin;
      if (line.done > 0) {
        line.left = spent.count() * double(line.total - line.done) / double(line.done);
      }
      console_.runs(line);
      std::this_thread::sleep_for(kPause);
    }
    console_.runs({});
    return signal;
  }

  // Starts the next unclaimed run. Returns false if there is none now. Throws LockError if another
  // process trains a run and this is not a worker.
  bool start_next(std::size_t threads) {
    for (auto next = left_.begin(); next != left_.end();) {
      const std::string directory = next->directory, log = directory + ".log";
      const auto file = claim(log);
      check<LockError>(file || options_.worker, directory,
                       " is being trained by another sweep; --worker shares the runs with it");
      if (!file) {
        ++next;
        continue;
      }
      const SweptRun run = std::move(*next);
      next = left_.erase(next);
      if (is_done(run)) continue;  // another worker has finished it
      if (::ftruncate(*file, 0) != 0) detail::fail_io(log, "cannot empty");
      running_.start(directory, options_.program, words_of(run, threads), *file);
      return true;
    }
    return false;
  }

  // The words of the command that begins or continues a run, on `threads` threads unless an
  // override sets their number.
  std::vector<std::string> words_of(const SweptRun& run, std::size_t threads) const {
    constexpr std::string_view kThreads = "train.threads=";
    std::vector<std::string> overrides = overrides_of(options_, run.setting);
    overrides.insert(overrides.begin(), std::string(kThreads) + std::to_string(threads));
    std::vector<std::string> words = {"train", options_.config, "--quiet"};
    if (history_of(run.directory)) {
      words = {"resume", run.directory, "--quiet"};
      std::erase_if(overrides, [&](const auto& text) { return !text.starts_with(kThreads); });
    } else {
      overrides.push_back("run.dir=" + to_literal(run.directory));
    }
    words.insert(words.end(), overrides.begin(), overrides.end());
    return words;
  }

  // Reads the results of a round, also of runs that other workers trained.
  void read(const std::vector<SweptRun>& runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Trial& trial = trials_[i / plan_.seeds.size()];
      if (i % plan_.seeds.size() == 0) trial.runs.clear();
      const auto run = history_of(runs[i].directory);
      if (run) trial.runs.push_back(*run);
      good_ = good_ && run && run->state == RunHistory::State::finished;
    }
    for (Trial& trial : trials_) {
      const auto loss = mean_of(trial, "validation", "loss");
      trial.score = loss ? loss->mean : std::numeric_limits<double>::infinity();
    }
    good_ = good_ && codes_.empty();
  }

  // The mean over seeds; nothing if a run is unfinished or lacks the metric.
  std::optional<Interval> mean_of(const Trial& trial, const std::string& split,
                                  const std::string& metric) const {
    std::vector<double> values;
    for (const RunHistory& run : trial.runs) {
      const auto value = number_of(run, split, metric);
      if (value && run.state == RunHistory::State::finished) values.push_back(*value);
    }
    if (values.size() < plan_.seeds.size()) return std::nullopt;
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
        const double error = !mean || plan_.seeds.size() == 1 ? NAN : mean->half_width;
        row.push_back(!mean ? "failed" : figure_text(mean->mean, error));
      }
    }
    const std::size_t seeds = plan_.seeds.size();
    const std::string note = fmt::format("mean of {} seeds ± 95 % interval\n", seeds);
    return text_table(rows) + (seeds > 1 ? note : "");
  }

  // The name of the main metric: the first one after the loss.
  std::string figure() const {
    for (const Trial& trial : trials_) {
      for (const RunHistory& run : trial.runs) {
        const MetricsRow* row = run.last("validation");
        if (row != nullptr && row->numbers.size() > 2) return row->numbers[2].first;
      }
    }
    return "accuracy";
  }

  void report() {
    std::vector<std::string> runs;
    for (const Trial& trial : trials_) {
      for (const RunHistory& run : trial.runs) runs.push_back(run.path);
    }
    if (runs.empty() || (options_.worker && is_reported(runs))) return;
    Json results = Json::array();  // of every round
    for (const SweptRun& run : runs_) {
      if (const auto one = history_of(run.directory)) results.push_back(object_of(run, *one));
    }
    publish_over(plan_.out, "results.csv", csv_of(results));
    publish_over(plan_.out, "results.json", results.dump(1) + "\n");
    publish_over(plan_.out, "report.html", report_html(runs));
    console_.line(plan_.out +
                  "/report.html shows the runs, results.csv and results.json list them");
  }

  // Whether another worker has written the page after the last run ended.
  bool is_reported(const std::vector<std::string>& runs) const {
    std::error_code error;
    const auto written = fs::last_write_time(plan_.out + "/report.html", error);
    return !error && std::all_of(runs.begin(), runs.end(), [&](const std::string& run) {
      const auto ended = fs::last_write_time(run + ".log", error);
      return !error && ended <= written;
    });
  }

  // If no run could begin, there are no results. Then the message of the first run is shown, too.
  SweepEnd failure() const {
    const auto first = codes_.find(runs_.front().directory);
    const auto begun = [](const SweptRun& run) { return history_of(run.directory).has_value(); };
    if (first == codes_.end() || std::any_of(runs_.begin(), runs_.end(), begun)) return {1};
    return {first->second, read_file(first->first + ".log")};
  }

  const SweepOptions& options_;
  const std::function<void(const std::string&)>& show_;
  SweepPlan plan_;
  std::vector<Trial>& trials_;
  Console console_;
  bool good_ = true;            // whether every run so far succeeded
  std::vector<SweptRun> runs_;  // of every round so far
  std::vector<SweptRun> left_;  // runs of this round to start
  Processes running_;           // by the directories of their runs
  std::vector<std::pair<std::string, int>>
      ended_;                         // in this round, with exit codes; 128 + n after signal n
  std::map<std::string, int> codes_;  // exit codes of runs that failed here, by their directories
};

}  // namespace

SweepEnd run_sweep(const SweepOptions& options,
                   const std::function<void(const std::string&)>& show) {
  return Sweep(options, show).run();
}

}  // namespace xgrad
