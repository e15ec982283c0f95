// Predictor: predictions of a trained model, as `xgrad predict` and other programs use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

struct AnyModel;
struct FoundRun;

/// One of the outputs that a beam search found.
struct BeamOutput {
  std::vector<std::string> labels;  ///< as Prediction::labels
  double log_probability;           ///< as Prediction::log_probability
};

/// The prediction for one input: an entry for each target, except positions for which the task has
/// no target.
struct Prediction {
  /// Class names, or class ids if the classes have no names. For yes-or-no targets: every name,
  /// likely or not, or yes (1) or no (0) if there are no names.
  std::vector<std::string> labels;
  std::vector<double> probabilities;  ///< probability of each label
  bool multi_label = false;           ///< each label is yes or no: probabilities above 1/2 are yes
  /// Predicted numbers, instead of labels, if the targets are numbers.
  std::vector<double> numbers;
  AnyTensor logits;  ///< output of the model: (K), or (N, K) for all positions
  /// For outputs that the model generates: log P(output | input) in nats, the end included.
  std::optional<double> log_probability;
  std::vector<BeamOutput> beam;  ///< the best outputs, best first; empty without a beam search
};

/// A trained model. All calls are thread-safe, also on the same object. The same input gives the
/// same bits on any thread and beside any other inputs.
class Predictor {
 public:
  /// Loads a checkpoint, or the newest checkpoint of a run directory. Reads no data. With `beam`,
  /// outputs are those of beam_search(), else of generate(). `precision` is the arithmetic, as in
  /// train.precision, to which the weights are converted; empty: that of the run. Throws IoError,
  /// CheckpointError, ConfigError, also when there is a beam and the model generates no outputs.
  explicit Predictor(const std::string& run, std::optional<BeamOptions> beam = std::nullopt,
                     const std::string& precision = "");
  /// Loads the checkpoint that was found, in the arithmetic of its config.
  explicit Predictor(const FoundRun& found, std::optional<BeamOptions> beam = std::nullopt);

  /// Shape of inputs and outputs.
  const TaskShape& shape() const;

  /// Parses a line of input as `xgrad predict` does. Throws DataError, which calls it example
  /// `number`.
  Example parse(const std::string& line, std::size_t number = 1) const;

  /// Parses a line and predicts for it. Throws DataError as parse() does.
  Prediction operator()(const std::string& line) const;
  /// Predicts for many examples at once and returns predictions in their order. Requires: each
  /// example comes from parse() or passed check_example().
  std::vector<Prediction> operator()(const std::vector<Example>& examples) const;

  /// The model itself.
  const AnyModel& model() const { return *model_; }

 private:
  std::shared_ptr<const AnyModel> model_;
  std::optional<BeamOptions> beam_;
  bool alone_;  // predict alone: other examples in the batch would change the result
};

}  // namespace xgrad
