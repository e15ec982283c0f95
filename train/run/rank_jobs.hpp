// Jobs: how several ranks train or score one run. Rank 0 does all that a single process does; the
// others get its config and checkpoint, and take part in its steps and evaluations.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/ranks/score.hpp>

namespace xgrad {

/// The job of training; any other is the name of a split to score.
inline constexpr const char* kTraining = "training";

/// Sends a job to the other ranks: the config, and the checkpoint that the run resumes from or that
/// they score. Called by rank 0 before make_on_all_ranks().
void send_job(Ranks& ranks, const std::string& job, const Config& config,
              const Checkpoint* checkpoint);

/// Tells that the job has come to its end on rank 0, so that the other ranks wait for the next one.
void end_job();

/// Whether the other ranks are at work in a job, and would wait for ever for a rank 0 that failed.
bool others_at_work();

/// Tells the other ranks that no job follows. Called by rank 0 at its end.
void send_end(Ranks& ranks);

/// The work of a rank other than 0: does jobs until rank 0 sends the end. After an exception it
/// does no more jobs, so the other ranks must be ended too.
void follow(Ranks& ranks);

/// Returns what `make` makes for the task of a config, or of a checkpoint: a Trainer or a
/// LoadedModel. One rank of each machine reads the task's files. All ranks must make theirs of the
/// same data, with the same weights, by the same program and on processors of the same class.
/// Otherwise throws on all ranks: what was thrown here, else Error that names the first rank that
/// failed or differs.
template <class Made>
std::unique_ptr<Made> make_on_all_ranks(
    Ranks& ranks, const Config& config, const Checkpoint* checkpoint,
    const std::function<std::unique_ptr<Made>(std::unique_ptr<Task> task)>& make);

/// The split of this name: the reverse of to_string(). Requires: it is one of the three.
Split split_of(const std::string& name);

/// score() of a run's model on a split, as in training. The classes are counted if a table of them
/// is readable. Asks break_off() before each batch.
template <class T>
Scores score_split(Ranks& ranks, const Config& config, const LoadedModel<T>& loaded, Split split,
                   const std::function<bool()>& break_off = {});

}  // namespace xgrad
