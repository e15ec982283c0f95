// What a config claims about itself, judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// What became of a claim.
struct Verdict {
  std::string claim;  ///< "accuracy >= 0.99"
  std::string found;  ///< "0.9987 +- 0.0003"
  bool holds;         ///< whether it is true
};

/// What a run came to.
struct Result {
  std::uint64_t steps = 0;         ///< steps taken
  std::size_t parameters = 0;      ///< trainable numbers
  Metrics test;                    ///< of the test split, after the last step
  std::optional<Ceiling> ceiling;  ///< of the test split, where the task knows it
  std::vector<Rule> rules = {};    ///< of the task's own, on the test split
  /// Of the test split from each token by itself, where the task knows it.
  std::optional<Ceiling> token_ceiling = {};
};

/// Throws ConfigError where a claim is about a ceiling that the task does not know.
void check_claims(const ExpectConfig& expect, const Task& task);

/// One verdict for each key of [expect].
std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result);

}  // namespace xgrad
