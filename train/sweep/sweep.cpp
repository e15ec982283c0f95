#include <xgrad/train/sweep/sweep.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/metrics/figure_text.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/console.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/results.hpp>
#include <xgrad/train/sweep/claims.hpp>
#include <xgrad/train/sweep/queue.hpp>
#include <xgrad/train/sweep/results.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

std::optional<double> number_of(const RunHistory& run, const std::string& split,
                                const std::string& metric) {
  const MetricsRow* row = run.last(split);
  return row == nullptr ? std::nullopt : row->number(metric);
}

// A trial in a round.
struct Entry {
  Trial trial;
  std::vector<std::optional<RunHistory>> runs = {};        // one per seed; those that began
  double score = std::numeric_limits<double>::infinity();  // mean validation loss

  // The mean over seeds; nothing if a run is unfinished or lacks the metric.
  std::optional<Interval> mean_of(const std::string& split, const std::string& metric) const {
    std::vector<double> values;
    for (const auto& run : runs) {
      const bool finished = run && run->state == RunHistory::State::finished;
      const auto value = finished ? number_of(*run, split, metric) : std::nullopt;
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return student_interval(values);
  }
};

class Sweep {
 public:
  Sweep(const SweepOptions& options, const std::function<void(const std::string&)>& show)
      : options_(options), show_(show), plan_(options), console_(options.quiet, "") {
    for (const Trial& trial : plan_.trials()) entries_.push_back({trial});
  }

  // With halving, trains in rounds of fewer settings and more steps.
  SweepEnd run() {
    const std::vector<double> parts =
        options_.halving ? rungs(entries_.size()) : std::vector<double>{1};
    for (const double part : parts) {
      if (const int signal = train(part)) {
        console_.line("stopped; run the same command to continue");
        return {128 + signal};
      }
      const auto better = [](const Entry& a, const Entry& b) { return a.score < b.score; };
      std::stable_sort(entries_.begin(), entries_.end(), better);
      show_((options_.halving ? length(part) : "") + table() + "\n");
      if (part < 1) entries_.resize((entries_.size() + 1) / 2);
    }
    report();
    return good_ ? SweepEnd{} : failure();
  }

 private:
  // The number of steps of a round, or their range, since a setting may change train.steps.
  std::string length(double part) const {
    std::vector<std::uint64_t> steps;
    for (const Entry& entry : entries_) {
      steps.push_back(part_of(entry.trial.config.train.steps, part));
    }
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    return *least == *most ? fmt::format("{} steps\n", *least)
                           : fmt::format("{} to {} steps\n", *least, *most);
  }

  // Returns the signal that ended the round, or 0. The queue loads every config first, so that a
  // wrong one is reported before any run starts.
  int train(double part) {
    std::vector<SweptRun> runs;
    for (const Entry& entry : entries_) {
      for (const SweptRun& run : plan_.runs_of(entry.trial, part)) runs.push_back(run);
    }
    runs_.insert(runs_.end(), runs.begin(), runs.end());
    SweepQueue queue(options_, runs);
    make_directory(plan_.out());
    if (options_.worker) check_claims_work(plan_.out());
    const auto cores = std::size_t(threads());
    const std::size_t parallel =
        std::clamp<std::size_t>(queue.left(), 1, options_.jobs > 0 ? options_.jobs : cores);
    console_.line(
        fmt::format("{} runs in {}, {} of them to train", runs.size(), plan_.out(), queue.left()));
    const int signal = train(queue, parallel, std::max<std::size_t>(1, cores / parallel));
    const auto& ended = queue.ended();
    if (options_.worker) {
      console_.line(
          fmt::format("this worker did {} run{}", ended.size(), ended.size() == 1 ? "" : "s"));
    }
    if (signal != 0) return signal;
    for (const auto& [directory, code] : ended) {
      if (code == 0) continue;
      console_.line(fmt::format("exit code {}: see {}.log", code, directory));
      codes_[directory] = code;
    }
    read(runs);
    return 0;
  }

  // Shows the progress of a round meanwhile.
  int train(SweepQueue& queue, std::size_t jobs, std::size_t threads) {
    const auto begin = std::chrono::steady_clock::now();
    Console::Runs line{.total = queue.left()};
    std::size_t seen = 0;
    const int signal = queue.run(jobs, threads, [&] {
      for (; seen < queue.ended().size(); ++seen) {
        const auto history = history_of(queue.ended()[seen].directory);
        const auto loss = history ? number_of(*history, "validation", "loss") : std::nullopt;
        if (loss) line.best = std::min(line.best.value_or(*loss), *loss);
      }
      line.running = queue.running();
      line.done = line.total - line.running - queue.left();
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (line.done > 0) {
        line.left = spent.count() * double(line.total - line.done) / double(line.done);
      }
      console_.runs(line);
    });
    console_.runs({});
    return signal;
  }

  // Reads the results of a round, which other workers may have done too.
  void read(const std::vector<SweptRun>& runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Entry& entry = entries_[i / plan_.seeds()];
      if (i % plan_.seeds() == 0) entry.runs.clear();
      const auto& run = entry.runs.emplace_back(history_of(runs[i].directory));
      good_ = good_ && run && run->state == RunHistory::State::finished;
    }
    for (Entry& entry : entries_) {
      const auto loss = entry.mean_of("validation", "loss");
      entry.score = loss ? loss->mean : std::numeric_limits<double>::infinity();
    }
    good_ = good_ && codes_.empty();
  }

  std::string table() const {
    const std::vector<std::pair<std::string, std::string>> figures = {
        {"validation", "loss"}, {"validation", figure()}, {"test", figure()}};
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& [key, value] : entries_.front().trial.setting) rows[0].push_back(key);
    for (const auto& [split, metric] : figures) rows[0].push_back(split + " " + metric);
    for (const Entry& entry : entries_) {
      auto& row = rows.emplace_back();
      for (const auto& [key, value] : entry.trial.setting) row.push_back(value);
      for (const auto& [split, metric] : figures) {
        const auto mean = entry.mean_of(split, metric);
        row.push_back(!mean ? "failed"
                            : figure_text(mean->mean, plan_.seeds() == 1 ? NAN : mean->half_width));
      }
    }
    return text_table(rows) +
           (plan_.seeds() > 1 ? fmt::format("mean of {} seeds ± 95 % interval\n", plan_.seeds())
                              : "");
  }

  // The name of the main metric: the first one after the loss.
  std::string figure() const {
    for (const Entry& entry : entries_) {
      for (const auto& run : entry.runs) {
        const MetricsRow* row = run ? run->last("validation") : nullptr;
        if (row != nullptr && row->numbers.size() > 2) return row->numbers[2].first;
      }
    }
    return "accuracy";
  }

  void report() {
    std::vector<std::string> runs;
    for (const Entry& entry : entries_) {
      for (const auto& run : entry.runs) {
        if (run) runs.push_back(run->path);
      }
    }
    if (runs.empty() || (options_.worker && is_reported(runs))) return;
    const SweepFiles files = sweep_files(runs_);
    publish_over(plan_.out(), "results.csv", files.csv);
    publish_over(plan_.out(), "results.json", files.json);
    write_report(plan_.out(), "report.html", runs);
    console_.line(plan_.out() +
                  "/report.html shows the runs, results.csv and results.json list them");
  }

  // Whether another worker has written the page after the last run ended.
  bool is_reported(const std::vector<std::string>& runs) const {
    std::error_code error;
    const auto written = fs::last_write_time(plan_.out() + "/report.html", error);
    return !error && std::all_of(runs.begin(), runs.end(), [&](const std::string& run) {
      const auto ended = fs::last_write_time(run + "/report.html", error);
      return !error && ended <= written;
    });
  }

  // If no run could begin, there are no results, so what the first one said is shown, too.
  SweepEnd failure() const {
    const auto first = codes_.find(runs_.front().directory);
    const auto begun = [](const SweptRun& run) { return history_of(run.directory).has_value(); };
    if (first == codes_.end() || std::any_of(runs_.begin(), runs_.end(), begun)) return {1};
    return {first->second, read_file(first->first + ".log")};
  }

  const SweepOptions& options_;
  const std::function<void(const std::string&)>& show_;
  SweepPlan plan_;
  Console console_;
  bool good_ = true;  // whether every run so far succeeded
  std::vector<Entry> entries_;
  std::vector<SweptRun> runs_;        // of every round so far
  std::map<std::string, int> codes_;  // exit codes of runs that failed here, by their directories
};

}  // namespace

SweepEnd run_sweep(const SweepOptions& options,
                   const std::function<void(const std::string&)>& show) {
  return Sweep(options, show).run();
}

}  // namespace xgrad
