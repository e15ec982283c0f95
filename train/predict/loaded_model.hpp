// LoadedModel: a trained model, loaded from a run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

/// find_run() with another train.precision; empty: that of the run.
inline FoundRun find_run_in(const std::string& precision, const std::string& path) {
  std::vector<std::string> overrides;
  if (!precision.empty()) overrides.push_back("train.precision=" + precision);
  return find_run(path, overrides);
}

/// A trained model with its task.
template <class T>
struct LoadedModel : TrainedModel<T> {
  /// Loads the model of a run, with weights converted to T. Throws CheckpointError if they do not
  /// fit.
  explicit LoadedModel(const FoundRun& source)
      : LoadedModel(source, make_task(source.config, &source.checkpoint)) {}
  /// Loads the model of a run whose task was made before.
  LoadedModel(const FoundRun& source, std::unique_ptr<Task> made)
      : TrainedModel<T>(source.config, source.checkpoint, made->shape(), source.file),
        task(std::move(made)) {}

  std::unique_ptr<Task> task;  ///< the task that the model was trained for
};

/// Gives the examples the targets that the decoder reads when it is looked into, whatever targets
/// they had: `outputs`, one line of class names (or numbers) without the end class for each
/// example; or, if there are none, the outputs that the model decodes greedily, those of
/// `xgrad predict`. Does nothing if the model generates no outputs. Throws ConfigError for outputs
/// that such a model cannot read, DataError for outputs that do not fit.
template <class T>
void set_outputs(const LoadedModel<T>& loaded, const std::vector<std::string>& outputs,
                 std::vector<Example>& examples);

/// A trained model of either scalar type.
struct AnyModel {
  /// Calls f with the LoadedModel<float> or LoadedModel<double>.
  template <class F>
  decltype(auto) visit(const F& f) const {
    return std::visit([&](const auto& model) -> decltype(auto) { return f(*model); }, model);
  }
  /// The model.
  std::variant<std::unique_ptr<const LoadedModel<float>>,
               std::unique_ptr<const LoadedModel<double>>>
      model;
};

/// Loads the model of a run in the arithmetic of its train.precision. Throws CheckpointError,
/// ConfigError.
inline std::shared_ptr<const AnyModel> load_model(const FoundRun& source) {
  return with_precision(source.config, [&]<class T>() {
    return std::make_shared<const AnyModel>(
        AnyModel{std::make_unique<const LoadedModel<T>>(source)});
  });
}

}  // namespace xgrad
