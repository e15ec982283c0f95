// Examination of a trained model on the test split, for report.html.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xgrad {

/// What report.html shows of a trained model. Text is HTML.
struct Examination {
  std::string cpu;  ///< processor class that it was trained on
  /// Titles and contents: the confusion matrix, examples, attention maps, embeddings, heads; those
  /// that there are.
  std::vector<std::pair<std::string, std::string>> sections;
  /// Names and values of references for the results on the test split: the best possible, baselines
  /// from counts in training data, at least 1,000 examples, and the task's rules.
  std::vector<std::vector<std::string>> references;
};

/// Loads the newest checkpoint of a run and evaluates it on the first 1,000 examples of the test
/// split. `heads` adds a study of each head, which takes one evaluation per head. Throws
/// CheckpointError, DataError, IoError.
Examination examine(const std::string& directory, bool heads);

}  // namespace xgrad
