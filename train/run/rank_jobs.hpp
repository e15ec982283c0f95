// Jobs: how several ranks train or score one run. Rank 0 does the work of a single process. If the
// other ranks take part in a piece of this work, rank 0 sends it to them as a job.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/predict/predictor.hpp>
#include <xgrad/train/ranks/score.hpp>

namespace xgrad {

/// Records that the job has ended. Until the next job, others_at_work() is false.
void end_job();

/// Whether all ranks are working in a job. If rank 0 fails meanwhile, the other ranks wait forever.
bool others_at_work();

/// Tells the other ranks that no job follows. Called by rank 0 at its end.
void send_end();

/// The work of a rank other than 0: does jobs until rank 0 sends the end. Skips a job that fails on
/// all ranks before its work begins. If the work throws, the caller must end the other ranks, too.
void follow();

/// Makes the trainer of a run on all of ranks(), and calls check(trainer) on each rank. Call this
/// function on rank 0, which sends the job to the other ranks. One rank of each machine reads the
/// data. A rank that fails throws its own exception. Every other rank throws an Error that names
/// the first failed rank. If data, initial weights, program or arithmetic differ between ranks, all
/// ranks throw an Error that names the first rank that differs from rank 0.
template <class T>
std::unique_ptr<Trainer<T>> make_trainer_on_all_ranks(
    const Config& config, const Checkpoint* checkpoint,
    const std::function<void(const Trainer<T>&)>& check);

/// The split of this name: the inverse of to_string(). Requires: "train", "validation" or "test".
Split split_of(const std::string& name);

/// Loads the model of a run, or the ensemble of several runs, on all of ranks(). Scores it on a
/// split of the first run's data, as training does, and ends the job. Also makes the ClassReport,
/// if the classes are few enough for a readable table. Calls progress(done, total) with the numbers
/// of examples of this rank. Throws as make_trainer_on_all_ranks().
template <class T>
std::pair<std::unique_ptr<LoadedModel<T>>, Scores> score_on_all_ranks(
    std::span<const FoundRun> sources, Split split,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace xgrad
