// TrainedModel: the model of a run with its weights, in the run's precision; or an ensemble.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/ensemble.hpp>

namespace xgrad {

/// A trained model with scalar type T, in the run's train.precision. Its weights are also packed:
/// copied into the layout that matrix products read fastest.
template <class T>
struct TrainedModel {
  /// Makes the model of `config` for a task of this shape, with the checkpoint's weights converted
  /// to T. Throws CheckpointError, with a message that starts with `origin`, if they do not fit.
  TrainedModel(const Config& config, const Checkpoint& checkpoint, TaskShape of_task,
               const std::string& origin = "the checkpoint")
      : shape(std::move(of_task)),
        parameters(config.train.seed),
        model(make_model<T>(config, shape, parameters)) {
    restore_weights(weights_of(checkpoint).parameters, origin, parameters);
    pack_weights(parameters);
  }
  /// The model of a single run, or the ensemble of several runs. Requires: at least one run. Throws
  /// as the other constructor and check_ensemble().
  TrainedModel(std::span<const FoundRun> runs, TaskShape of_task)
      : TrainedModel(runs[0].config, runs[0].checkpoint, std::move(of_task), runs[0].file) {
    if (runs.size() == 1) return;
    check_ensemble(runs);
    std::vector<std::shared_ptr<const SequenceModel<T>>> members = {std::move(model)};
    for (const FoundRun& run : runs.subspan(1)) {
      const auto one = std::make_shared<TrainedModel>(run.config, run.checkpoint, shape, run.file);
      members.emplace_back(one, one->model.get());  // also keeps the weights alive
    }
    model = make_ensemble(shape.target, std::move(members));
  }

  TaskShape shape;                          ///< shape of the task
  Parameters<T> parameters;                 ///< the weights; for an ensemble, the first run's
  std::unique_ptr<SequenceModel<T>> model;  ///< the model
};

}  // namespace xgrad
