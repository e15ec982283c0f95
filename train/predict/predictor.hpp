// Predictor: a trained model in use, as in `xgrad predict` and in programs of others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// What a model says of one input: an entry for each target, but for positions that the task asks
/// nothing of.
struct Prediction {
  /// Classes, by name where they have one; of yes-or-no targets every name that may hold, or yes
  /// (1) or no (0) where they have none.
  std::vector<std::string> labels;
  std::vector<double> probabilities;  ///< that of each label
  bool multi_label = false;           ///< any number of labels holds: those above 1/2
  std::vector<double> numbers;        ///< instead of both, of a task whose targets are numbers
  AnyTensor logits;                   ///< what the model put out: (K), or (N, K) for all positions
};

/// A model as its run left it. All calls are thread-safe, also on one object at once, and an input
/// has the same prediction to the bit on any thread and beside any others.
class Predictor {
 public:
  /// Loads a checkpoint, or the newest of a run directory; needs no data. Throws IoError,
  /// CheckpointError, ConfigError.
  explicit Predictor(const std::string& run);
  ~Predictor();
  /// What is left may only be assigned to, or destroyed.
  Predictor(Predictor&&) noexcept;
  /// What is left may only be assigned to, or destroyed.
  Predictor& operator=(Predictor&&) noexcept;

  /// What inputs and outputs are.
  const TaskShape& shape() const;

  /// An input as `xgrad predict` reads it. Throws DataError, which calls it example `number`.
  Example parse(const std::string& line, std::size_t number = 1) const;

  /// Throws DataError as parse() does.
  Prediction operator()(const std::string& line) const;
  /// Predictions for many at once, in their order. Requires: each comes from parse(), or passed
  /// check_example().
  std::vector<Prediction> operator()(const std::vector<Example>& examples) const;

  /// A loaded model of one scalar type.
  class Model;

 private:
  std::unique_ptr<const Model> model_;
};

}  // namespace xgrad
