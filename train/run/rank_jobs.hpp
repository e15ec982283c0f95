// Jobs: how several ranks train or score one run. Rank 0 does all that a single process does; the
// others get its config and checkpoint, and take part in its steps and evaluations.
#pragma once

#include <functional>
#include <memory>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// Sends a job to the other ranks: the config, and the checkpoint that the run resumes from. Called
/// by rank 0 before agreed().
void send_job(Ranks& ranks, const Config& config, const Checkpoint* checkpoint);

/// Sends another job to the other ranks: to score a run on a split. Called by rank 0 before
/// agreed_model().
void send_scoring(Ranks& ranks, const FoundRun& source, Split split);

/// Tells that the job has come to its end on rank 0, so that the other ranks wait for the next one.
void end_job();

/// Whether the other ranks are at work in a job, and would wait for ever for a rank 0 that failed.
bool others_at_work();

/// Tells the other ranks that no job follows. Called by rank 0 at its end.
void send_end(Ranks& ranks);

/// The work of a rank other than 0: does jobs until rank 0 sends the end. After an exception it
/// does no more jobs, so the other ranks must be ended too.
void follow(Ranks& ranks);

/// Returns the trainer that `make` makes if all ranks made theirs of the same data, with the same
/// initial weights, by the same program and on processors of the same class. Otherwise throws on
/// all ranks: what `make` threw here, else Error that names the first rank that failed or differs.
template <class T>
std::unique_ptr<Trainer<T>> agreed(Ranks& ranks,
                                   const std::function<std::unique_ptr<Trainer<T>>()>& make);

/// Returns the model of a run to score if all ranks loaded theirs, and agreed as for agreed().
/// Otherwise throws on all ranks.
template <class T>
std::unique_ptr<LoadedModel<T>> agreed_model(Ranks& ranks, const FoundRun& source);

/// Hooks of which all ranks ask the same: they stop and save if one of them is told to.
class AgreedHooks final : public TrainerHooks {
 public:
  /// Calls the hooks of this rank. Calls `told` with the number of another rank that was told to
  /// stop.
  AgreedHooks(
      Ranks& ranks, TrainerHooks& own, std::function<void(std::size_t)> told = [](std::size_t) {})
      : ranks_(ranks), own_(own), told_(std::move(told)) {}

  void on_step(const StepReport& report) override { own_.on_step(report); }
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override {
    own_.on_evaluation(step, metrics);
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { own_.on_checkpoint(checkpoint); }
  void on_spike(const StepReport& report, std::uint64_t step) override {
    own_.on_spike(report, step);
  }
  void on_fault(const Checkpoint& failed) override { own_.on_fault(failed); }
  bool stop() override;
  bool break_off() override;
  bool take_save() override { return std::exchange(save_, false); }

 private:
  bool agree(bool stop);

  Ranks& ranks_;
  TrainerHooks& own_;
  std::function<void(std::size_t)> told_;
  bool save_ = false;
};

}  // namespace xgrad
