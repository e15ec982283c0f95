// RunRecorder: writes a run's logs and checkpoints, displays it, and ends it after a signal or
// train.max_seconds. This header is not installed.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/logs/console.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/logs/tensorboard.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad {

/// The callbacks of a run in its directory. All except on_fatal_step() throw IoError if a file
/// cannot be written.
template <class T>
class RunRecorder final : public TrainerHooks {
 public:
  /// Records the run of a trainer. After each event, it first writes its own files, then calls the
  /// hooks of `options`.
  RunRecorder(const Config& config, const Trainer<T>& trainer, const RunDirectory& run,
              Console& console, const SessionOptions& options)
      : config_(config),
        trainer_(trainer),
        run_(run),
        console_(console),
        options_(options),
        board_(config, run.folder(), trainer.step()),
        earlier_(last_timing(run.folder()).number("seconds").value_or(0)) {
    StepReport any;
    any.metrics.target = trainer.task().shape().target;
    any.metrics.next = trainer.task().shape().next;
    columns_ = training_row(any);
    renew_csv();
  }

  void on_step(const StepReport& report) override {
    tokens_ += report.tokens;
    ++steps_;
    const std::uint64_t total = trainer_.total_steps();
    const double left = elapsed() / double(steps_) * double(total - report.step);
    shown_ = {report.step, total, report.loss, report.lr, double(tokens_) / elapsed(), left};
    console_.progress(shown_);
    if (report.metrics.loss.count() > 0) {
      const double seconds = earlier_ + elapsed();
      log(kMetrics, training_row(report));
      log(kTiming, {report.step, "", {{"seconds", seconds}, {"tokens_per_second", shown_.rate}}});
    }
    for (const auto& hook : options_.hooks) hook->on_step(report);
  }

  void on_evaluation(std::uint64_t step, const Metrics& metrics) override {
    log(kMetrics, metrics_row(step, "validation", metrics));
    shown_.step = step;
    run_.folder().append("log.txt", console_.evaluation(shown_, metrics));
    if (config_.log_tensorboard) {
      trainer_.gather_gradients();
      board_.histograms(step, trainer_.parameters());
      trainer_.with_evaluated_weights([&] {
        board_.attention(step, trainer_.model(), trainer_.parameters(), trainer_.task());
      });
    }
    for (const auto& hook : options_.hooks) hook->on_evaluation(step, metrics);
  }

  // Syncs the metrics and the manifest before it writes the checkpoint. Otherwise a power failure
  // could lose rows that no resumed run writes again, or leave a checkpoint that is not in the
  // manifest. A run that stops during a validation saves a checkpoint without listing it there. The
  // resumed run first repeats this validation, then overwrites and lists the checkpoint.
  void on_checkpoint(const Checkpoint& checkpoint) override {
    run_.folder().sync(kMetrics);
    const Folder& folder = run_.checkpoints();
    const std::string name = checkpoint_name(checkpoint.step);
    const DigestedFile file = to_hdf5_file(checkpoint);
    const auto owes = [](const Checkpoint& saved) { return saved.state.contains(kOwesValidation); };
    if (!owes(checkpoint)) add_to_manifest(folder, name, file.sha256);
    const bool owed = folder.holds(name) && owes(read_checkpoint(folder.input(name)));
    (owed ? publish_over : publish)(folder, name, file.bytes);
    prune(folder, config_.train.keep,
          std::uint64_t(state_value<std::int64_t>(checkpoint, "best_step")));
    for (const auto& hook : options_.hooks) hook->on_checkpoint(checkpoint);
  }

  void on_failed_step(const StepReport& report, std::uint64_t step) override {
    const std::string line =
        fmt::format("step {}: {}; nothing was updated; training {} step {}", report.step,
                    report.failure, step < report.step ? "goes back to" : "continues after", step);
    console_.line(line);
    run_.folder().append("log.txt", line);
    if (step < report.step) {
      for (const char* file : {kMetrics, kTiming, kDigests}) {
        const std::string moved = run_.cut_back(file, step);
        if (!moved.empty()) run_.folder().append("log.txt", moved);
      }
      board_.go_back(step);
      renew_csv();
    }
    for (const auto& hook : options_.hooks) hook->on_failed_step(report, step);
  }

  // If writing the file of the failed step fails, the error of the step must still be thrown.
  std::string on_fatal_step(const Checkpoint& failed) override {
    try {
      const std::string name = failed_step_name(failed.step + 1);
      publish_over(run_.folder(), name, to_hdf5(failed));
      return fmt::format("\n  kept as {}/{}; `xgrad replay` runs it op by op",
                         run_.folder().present_path(), name);
    } catch (const Error& error) {
      return fmt::format("\n  and could not be kept: {}", error.what());
    }
  }

  bool stop() override {
    if (options_.kill_at > 0 && shown_.step >= options_.kill_at) std::raise(SIGKILL);
    for (const auto& hook : options_.hooks) told_to_stop_ = hook->stop() || told_to_stop_;
    return stop_signal() != 0;
  }
  void on_stop_of(std::size_t rank) override {
    console_.line(fmt::format("rank {} was told to stop", rank));
    told_to_stop_ = true;
  }
  // train.max_seconds does not end an evaluation. Otherwise, an evaluation longer than max_seconds
  // would never complete, however often the run is resumed.
  bool break_off() override { return signals_.stop() != 0; }
  bool take_save() override { return signals_.take_save(); }

  void on_test(const MetricsRow& row) {
    log(kMetrics, row);
    run_.folder().sync(kMetrics);
    board_.finish();
  }

  /// The signal that requested a stop: SIGALRM for train.max_seconds, SIGTERM for a hook; 0: none.
  int stop_signal() const {
    const bool late = config_.train.max_seconds > 0 && elapsed() >= config_.train.max_seconds;
    if (signals_.stop() != 0) return signals_.stop();
    return told_to_stop_ ? SIGTERM : late ? SIGALRM : 0;
  }
  /// Seconds since construction.
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char *kMetrics = "metrics.jsonl", *kTiming = "timing.jsonl",
                              *kCsv = "metrics.csv";

  MetricsRow training_row(const StepReport& report) const {
    const TrainConfig& train = config_.train;
    MetricsRow row = metrics_row(report.step, "train", report.metrics);
    row.numbers.emplace_back("lr", report.lr);
    row.numbers.emplace_back("grad_norm", report.grad_norm);
    if (train.head_diversity > 0) row.numbers.emplace_back("head_diversity", report.head_diversity);
    if (train.curriculum_start > 0) row.numbers.emplace_back("max_length", report.max_length);
    return row;
  }

  void log(const std::string& file, const MetricsRow& row) {
    run_.folder().append(file, to_json(row));
    board_.row(row);
    if (file == kMetrics && config_.log_csv) run_.folder().append(kCsv, csv_row(row));
  }

  // Numbers keep their full precision. Missing numbers, NaN and infinity become empty cells.
  std::string csv_row(const MetricsRow& row) const {
    std::vector<std::string> cells = {std::to_string(row.step), row.split};
    for (const auto& [name, any] : columns_.numbers) {
      const auto value = row.number(name);
      cells.push_back(value && is_finite_bits(*value) ? fmt::format("{}", *value) : "");
    }
    return csv_line(cells);
  }

  // Writes metrics.csv from metrics.jsonl.
  void renew_csv() const {
    if (!config_.log_csv) return;
    std::vector<std::string> header = {"step", "split"};
    for (const auto& [name, any] : columns_.numbers) header.push_back(name);
    std::string text = csv_line(header);
    for (const MetricsRow& row : read_metrics(run_.folder(), kMetrics)) text += "\n" + csv_row(row);
    publish_over(run_.folder(), kCsv, text + "\n");
  }

  const Config& config_;
  const Trainer<T>& trainer_;
  const RunDirectory& run_;
  Console& console_;
  const SessionOptions& options_;
  Signals signals_;
  TensorBoard board_;
  MetricsRow columns_;         // columns of metrics.csv: all numbers of a training row
  bool told_to_stop_ = false;  // by a hook or another rank
  double earlier_;             // training time in earlier processes
  Clock::time_point start_ = Clock::now();
  std::size_t tokens_ = 0, steps_ = 0;
  Console::Progress shown_;
};

}  // namespace xgrad
