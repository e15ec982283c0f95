// Scores of a trained model by the length of its examples.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// The score on the examples that have from `shortest` to `length` tokens.
struct LengthScore {
  std::size_t shortest = 0;  ///< fewest tokens
  std::size_t length = 0;    ///< most tokens
  std::size_t examples = 0;  ///< number of examples
  Metrics metrics = {};      ///< metrics over these examples
  std::string why_not = {};  ///< why there is no score; empty if there is a score

  std::string length_text() const;  ///< "8", or "5-8"
};

/// Evaluates the model of a run, or the ensemble of several runs, on a split, once for each of
/// `lengths` (ascending). A task with a key `length` draws examples of exactly this length, which
/// may exceed the lengths of training. For other tasks, the score of a length is over the split's
/// examples of at most this length that are longer than the previous length. Calls progress(done,
/// total) before each score. Throws ConfigError if examples have no length, or if no score exists.
std::vector<LengthScore> score_lengths(
    std::span<const FoundRun> sources, Split split, const std::vector<std::size_t>& lengths,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace xgrad
