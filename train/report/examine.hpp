// Examination: what a trained model does with the test split, for people to look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/microscope.hpp>

namespace xgrad {

/// An example with what the model says of it.
struct Sample {
  std::string input;                              ///< text; empty for an image
  std::string picture;                            ///< of an image: a data: URI
  std::vector<std::string> targets, predictions;  ///< word by word, or answers or numbers
  bool right = false;                             ///< every class or answer that counts
};

struct Confusion {
  std::vector<std::string> classes;
  std::vector<std::size_t> counts;  ///< (classes, classes): row the target, column the prediction
};

struct Examination {
  std::uint64_t step = 0;    ///< of the checkpoint
  std::string cpu;           ///< that it was trained on
  std::size_t examples = 0;  ///< looked at
  bool judged = false;       ///< whether samples are right or wrong: their targets are no numbers
  std::vector<Sample> right, wrong;  ///< a few; all in `right` when not judged
  Confusion confusion;               ///< empty without classes, or with too many to be read
  Sample mapped;                     ///< whose maps these are
  std::vector<AttentionMap> maps;
  std::optional<AttentionStudy> heads;  ///< when asked for
  std::optional<Ceiling> ceiling;       ///< of the test split
  std::optional<Baseline> baseline;     ///< counting what the model saw, 1,000 examples at least
  std::vector<Rule> rules;              ///< of the task's own, on the test split
};

/// Loads the newest checkpoint of a run and runs it on the first examples of the test split;
/// studies each head of it when asked to, which takes an evaluation a head. Throws CheckpointError,
/// DataError, IoError.
Examination examine(const std::string& directory, const Config& config, bool heads);

}  // namespace xgrad
