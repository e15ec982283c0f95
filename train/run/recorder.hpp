// RunRecorder: writes a run's logs and checkpoints, displays it, and ends it after a signal or
// train.max_seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <xgrad/train/logs/console.hpp>
#include <xgrad/train/logs/tensorboard.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad {

/// The callbacks of a run in its directory. All except on_fatal_step() throw IoError if a file
/// cannot be written.
class RunRecorder final : public TrainerHooks {
  using Clock = std::chrono::steady_clock;

 public:
  /// Adds weights and attention maps of a step to a board.
  using Look = std::function<void(std::uint64_t step, TensorBoard& board)>;

  /// Records a run of `total` steps from `step` on, for a task of this shape. Calls the hooks of
  /// `options` after it has done its own part.
  RunRecorder(const Config& config, const TaskShape& shape, const RunDirectory& run,
              std::uint64_t step, std::uint64_t total, Console& console,
              const SessionOptions& options, Look look);

  void on_step(const StepReport& report) override;
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override;
  void on_checkpoint(const Checkpoint& checkpoint) override;
  void on_failed_step(const StepReport& report, std::uint64_t step) override;
  std::string on_fatal_step(const Checkpoint& failed) override;
  bool stop() override;
  // train.max_seconds does not end an evaluation: one that takes longer would never complete.
  bool break_off() override { return signals_.stop() != 0; }
  bool take_save() override { return signals_.take_save(); }
  void on_stop_of(std::size_t rank) override;

  void on_test(const MetricsRow& row);

  /// The signal that requested a stop: SIGALRM for train.max_seconds, SIGTERM for a hook; 0: none.
  int stop_signal() const;
  /// Seconds since construction.
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  void log(const std::string& file, const MetricsRow& row);
  std::string csv_row(const MetricsRow& row) const;
  void renew_csv() const;

  const Config& config_;
  const RunDirectory& run_;
  std::uint64_t total_;
  Console& console_;
  const SessionOptions& options_;
  Look look_;
  Signals signals_;
  TensorBoard board_;
  MetricsRow columns_;         // of metrics.csv: the numbers of a training row; others have some
  bool told_to_stop_ = false;  // by a hook or another rank
  double earlier_;             // training time in earlier processes
  Clock::time_point start_ = Clock::now();
  std::size_t tokens_ = 0, steps_ = 0;
  Console::Progress shown_;
};

}  // namespace xgrad
