// Recorder: writes a run's logs and checkpoints, shows it, and ends it when a signal or the time
// says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/console.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/run/tensorboard.hpp>

namespace xgrad {

/// Who watches a run in its directory. All members of TrainerHooks throw IoError when a file cannot
/// be written, but on_fault().
class Recorder final : public TrainerHooks {
 public:
  /// Of a run of `total` steps, which dies as by kill -9 after step `kill_at` unless that is 0.
  /// `look` shows on the board what a model is after a step.
  Recorder(const Config& config, const RunDirectory& run, std::uint64_t total, Console& console,
           Signals& signals, std::uint64_t kill_at, TensorBoard& board,
           std::function<void(std::uint64_t)> look);

  void on_step(const StepReport& report) override;
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override;
  void on_checkpoint(const Checkpoint& checkpoint) override;
  void on_spike(const StepReport& report, std::uint64_t step) override;
  void on_fault(const Checkpoint& failed) override;
  bool stop() override;
  bool break_off() override;
  bool take_save() override { return signals_.take_save(); }

  /// Where the step was kept that ended the run.
  const std::string& fault() const { return fault_; }
  /// The signal that asked to stop, SIGALRM when the time is over; 0: none.
  int stop_signal() const;

 private:
  using Clock = std::chrono::steady_clock;

  double elapsed() const;
  void log(const std::string& file, const std::string& row);

  const Config& config_;
  const RunDirectory& run_;
  std::uint64_t total_;
  Console& console_;
  Signals& signals_;
  std::uint64_t kill_at_;
  std::string fault_;
  TensorBoard& board_;
  std::function<void(std::uint64_t)> look_;
  double earlier_;  // seconds that the run took before this process
  Clock::time_point start_ = Clock::now();
  std::size_t tokens_ = 0, steps_ = 0;
  Console::Progress shown_;
};

}  // namespace xgrad
