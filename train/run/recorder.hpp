// RunRecorder: writes a run's logs and checkpoints, displays it, and ends it after a signal or
// train.max_seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/console.hpp>
#include <xgrad/train/run/csv_log.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/run/tensorboard.hpp>

namespace xgrad {

/// The callbacks of a run in its directory. All except on_fault() throw IoError if a file cannot be
/// written.
class RunRecorder final : public TrainerHooks {
 public:
  /// Records a run of `total` steps for a task of this shape. `look` adds weights and attention
  /// maps of a step to the board. After step `kill_at`, if it is not 0, the process dies as by
  /// kill -9, for tests.
  RunRecorder(const Config& config, const TaskShape& shape, const RunDirectory& run,
              std::uint64_t total, Console& console, Signals& signals, std::uint64_t kill_at,
              TensorBoard& board, std::function<void(std::uint64_t)> look);

  /// Adds a hook of the program, called after the recorder has done its own part.
  void add(std::shared_ptr<TrainerHooks> hook) { hooks_.push_back(std::move(hook)); }

  void on_step(const StepReport& report) override;
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override;
  void on_checkpoint(const Checkpoint& checkpoint) override;
  void on_spike(const StepReport& report, std::uint64_t step) override;
  void on_fault(const Checkpoint& failed) override;
  bool stop() override;
  bool break_off() override;
  bool take_save() override { return signals_.take_save(); }

  /// Asks for a stop, as a hook does.
  void tell_to_stop() { told_to_stop_ = true; }

  /// Adds the row of the test split.
  void on_test(const MetricsRow& row);

  /// Text that says where the failed step that ended the run is stored.
  const std::string& fault() const { return fault_; }
  /// The signal that requested a stop: SIGALRM for train.max_seconds, SIGTERM for a hook; 0: none.
  int stop_signal() const;
  /// Seconds since construction.
  double elapsed() const;

 private:
  using Clock = std::chrono::steady_clock;

  void record(const StepReport& report);
  void log(const std::string& file, const MetricsRow& row);

  const Config& config_;
  const RunDirectory& run_;
  std::uint64_t total_;
  Console& console_;
  Signals& signals_;
  std::uint64_t kill_at_;
  std::string fault_;
  TensorBoard& board_;
  CsvLog csv_;
  std::function<void(std::uint64_t)> look_;
  std::vector<std::shared_ptr<TrainerHooks>> hooks_;
  bool told_to_stop_ = false;  // by a hook or another rank
  double earlier_;             // training time in earlier processes
  Clock::time_point start_ = Clock::now();
  std::size_t tokens_ = 0, steps_ = 0;
  Console::Progress shown_;
};

}  // namespace xgrad
