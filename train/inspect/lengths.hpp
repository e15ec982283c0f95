// Scores of a trained model by the length of its examples.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// The score on examples of one length, or on examples of `shortest` to `length` tokens.
struct LengthScore {
  std::size_t shortest = 0;  ///< fewest tokens
  std::size_t length = 0;    ///< most tokens
  std::size_t examples = 0;  ///< number of examples
  Metrics metrics = {};      ///< metrics over these examples
  std::string why_not = {};  ///< why there is no score; otherwise empty

  std::string length_text() const;  ///< "8", or "5-8"
};

/// Evaluates a run's model, or the ensemble of several, on a split, once for each length. A task
/// with a key `length` draws examples of exactly that length, which may exceed the lengths of
/// training. For other tasks, each score is over the existing examples that are longer than the
/// previous length and at most this long. Calls progress(done, total) before each score. Throws
/// ConfigError if the examples have no length, or if there is no score at all.
std::vector<LengthScore> score_lengths(
    std::span<const FoundRun> sources, Split split, const std::vector<std::size_t>& lengths,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace xgrad
