// Examination: predictions, attention maps and baselines of a trained model on the test split, and
// their sections of report.html.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/metrics/class_report.hpp>
#include <xgrad/train/report/embeddings.hpp>

namespace xgrad {

/// An example with its prediction.
struct Sample {
  std::string input;                              ///< input as text; empty for an image
  std::string picture;                            ///< image as a data: URI
  std::vector<std::string> targets, predictions;  ///< by word, yes-or-no answer or number
  bool right = true;                              ///< every class or answer that counts is right
};

struct Examination {
  std::uint64_t step = 0;            ///< step of the checkpoint
  std::string cpu;                   ///< processor class that it was trained on
  std::size_t examples = 0;          ///< number of examples used
  bool forced = false;               ///< a decoder read the targets: teacher forcing
  bool judged = false;               ///< samples are right or wrong; false for numbers
  std::vector<Sample> right, wrong;  ///< some samples; all are in `right` if not judged
  ClassReport classes;               ///< without classes if there are too many to display
  std::vector<std::string> names;    ///< of the classes
  Sample mapped;                     ///< the example of the maps; with `forced`, also its targets
  std::vector<AttentionMap> maps;
  std::optional<AttentionStudy> heads;     ///< if requested
  std::optional<EmbeddingMap> embeddings;  ///< if the model embeds tokens
  std::optional<Ceiling> ceiling;          ///< best possible on the test split
  /// Baselines from counts in training data, at least 1,000 examples.
  std::optional<Baseline> baseline;
  std::vector<Rule> rules;  ///< the task's rule baselines on the test split
};

/// Loads the newest checkpoint of a run and evaluates it on the first examples of the test split.
/// `heads` adds a study of each head, which takes one evaluation per head. Throws CheckpointError,
/// DataError, IoError.
Examination examine(const std::string& directory, bool heads);

/// The sections of report.html about an examination, as HTML; `of` follows each heading.
std::string sections_of(const Examination& found, const std::string& of);

}  // namespace xgrad
