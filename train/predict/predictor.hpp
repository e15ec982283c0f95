// LoadedModel: a trained model, loaded from a run. Predictor: predictions of a trained model, for
// `xgrad predict` and other programs. TextGenerator: texts by a language model (`xgrad generate`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

/// Calls find_run() for each path, and returns the results in the same order.
std::vector<FoundRun> find_runs(const std::vector<std::string>& paths,
                                const std::vector<std::string>& overrides = {},
                                Take take = Take::model);
/// The override that sets train.precision, as a list; an empty list if `precision` is empty.
inline std::vector<std::string> in_precision(const std::string& precision) {
  if (precision.empty()) return {};
  return {"train.precision=" + precision};
}

/// A trained model with its task: the model of a run, or the ensemble of several runs.
template <class T>
struct LoadedModel : TrainedModel<T> {
  /// Loads the model of a run, with weights converted to T. Throws CheckpointError if the weights
  /// do not fit.
  explicit LoadedModel(const FoundRun& source)
      : LoadedModel({&source, 1}, make_task(source.config, &source.checkpoint)) {}
  /// Loads the models of runs; `made` is the task of the first run. Throws as above; ConfigError if
  /// the models cannot form an ensemble (check_ensemble()). Requires: at least one run.
  LoadedModel(std::span<const FoundRun> sources, std::unique_ptr<Task> made)
      : TrainedModel<T>(sources, made->shape()), task(std::move(made)) {}

  std::unique_ptr<Task> task;  ///< the task that the model was trained for
};

/// Sets the targets of the examples. A decoder reads the targets (teacher forcing) when its
/// attention or activations are studied. `outputs` has a line for each example: class names, or ids
/// of classes without names; no end class. If `outputs` is empty, the model's greedy outputs become
/// the targets. If the model generates no outputs: throws ConfigError if `outputs` has lines, else
/// does nothing. Throws DataError if the number of lines is wrong or a line cannot be parsed.
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

/// Loads the model of a run, or the ensemble of several runs. Each model computes in the
/// train.precision of its run. Throws CheckpointError, ConfigError. Requires: at least one run.
std::shared_ptr<const AnyModel> load_model(std::span<const FoundRun> sources);
/// Loads the model of one run, as above.
inline std::shared_ptr<const AnyModel> load_model(const FoundRun& source) {
  return load_model({&source, 1});
}

/// One of the outputs that a beam search found.
struct BeamOutput {
  std::vector<std::string> labels;  ///< names of the classes, as in Prediction::labels
  double log_probability;           ///< log P(output | input) in nats, the end included
};

/// The prediction for one input. Labels, probabilities and numbers have no entries for positions at
/// which the task asks for nothing, such as tokens outside the slots.
struct Prediction {
  /// For classes: their names, or their ids if they have no names. For yes-or-no targets with
  /// names: all names, also of the targets predicted as no. For yes-or-no targets without names:
  /// "1" (yes) or "0" (no) for each target.
  std::vector<std::string> labels;
  std::vector<double> probabilities;  ///< of each label; of the printed answer for "1" or "0"
  bool multi_label = false;     ///< yes-or-no targets with names: a probability above 1/2 means yes
  std::vector<double> numbers;  ///< if targets are numbers: predictions, instead of labels
  AnyTensor logits;  ///< output of the model for K classes: (K), or (N, K) for N positions
  /// For outputs that the model generates: log P(output | input) in nats, the end included.
  std::optional<double> log_probability;
  std::vector<BeamOutput> beam;  ///< the best outputs, best first; empty without a beam search
};

/// A trained model, or an ensemble. All calls are thread-safe, also on the same object. The same
/// input gives the same bits on any thread and in any batch.
class Predictor {
 public:
  /// Loads a checkpoint, or the model of a run directory. Reads no data. With `beam`, beam_search()
  /// decodes the outputs, else generate(). `precision` replaces the run's train.precision,
  /// unless `precision` is empty. Throws IoError, CheckpointError, ConfigError. One cause of
  /// ConfigError is a `beam` for a model that generates no outputs.
  explicit Predictor(const std::string& run, std::optional<BeamOptions> beam = std::nullopt,
                     const std::string& precision = "");
  /// Loads the checkpoints of find_runs(). Several form an ensemble (make_ensemble()). Each model
  /// computes in the train.precision of its config. Requires: at least one checkpoint.
  explicit Predictor(std::span<const FoundRun> found,
                     std::optional<BeamOptions> beam = std::nullopt);

  const TaskShape& shape() const;  ///< shape of inputs and outputs
  /// Parses a line as `xgrad predict` does. Throws DataError if the line is not a valid input. As
  /// in check_example(), `number` is the number of the example in error messages.
  Example parse(const std::string& line, std::size_t number = 1) const;
  /// Predicts for a line. Throws DataError as parse() does.
  Prediction operator()(const std::string& line) const;
  /// Predicts for many examples, in their order. Requires: each passed parse() or check_example().
  std::vector<Prediction> operator()(const std::vector<Example>& examples) const;

  const AnyModel& model() const { return *model_; }  ///< the model itself

 private:
  std::shared_ptr<const AnyModel> model_;
  std::optional<BeamOptions> beam_;
  bool alone_;  // predicts each example alone: other examples in its batch would change the result
};

/// How the next token is chosen from the probabilities of a model.
struct Sampling {
  double temperature = 1;  ///< divides the logits; 0: always the likeliest token
  std::uint64_t seed = 1;  ///< seed of the random numbers
};

/// Draws a class from softmax(logits / temperature) over all classes except kUnknownId: returns the
/// first class with a cumulative probability above u, a uniform random number in [0, 1). With
/// temperature 0, returns the first of these classes with the largest logit.
template <class T>
std::int32_t sample(const T* logits, std::size_t classes, double temperature, double u);

/// A trained language model that continues texts. All calls are thread-safe.
class TextGenerator {
 public:
  /// Loads a checkpoint, or the model of a run directory; several form an ensemble. Reads no data.
  /// Throws IoError, CheckpointError, and ConfigError if a model is not a causal encoder that
  /// predicts next tokens. Requires: at least one run.
  explicit TextGenerator(const std::vector<std::string>& runs, Take take = Take::model);

  /// Calls say() with the text of each token that follows `beginning`, as soon as it is known,
  /// until the text ends or has `most` more tokens. Returns whether the text ended. The p-th number
  /// of the stream "generate" of Rng(seed) (random.hpp) chooses the token at position p of the
  /// text. So a text depends on model, beginning and sampling only, not on the number of threads.
  ///
  /// The model reads at most TaskShape::max_length tokens. When it has read this many tokens, it
  /// starts again with the last half of them. Throws DataError if the beginning has tokens outside
  /// the vocabulary.
  bool generate(const std::string& beginning, std::size_t most, const Sampling& sampling,
                const std::function<void(const std::string&)>& say) const;

 private:
  std::shared_ptr<const AnyModel> model_;
};

}  // namespace xgrad
