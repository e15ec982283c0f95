// What a config claims about itself, judged.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config.hpp>
#include <xgrad/train/metrics.hpp>

namespace xgrad {

struct Verdict {
  std::string claim;  ///< "accuracy >= 0.99"
  std::string found;  ///< "0.9987 +- 0.0003"
  bool holds;
};

/// One verdict for each key of [expect]; `test` holds the metrics of the test split after the last
/// step.
std::vector<Verdict> judge(const ExpectConfig& expect, const Metrics& test, std::size_t parameters,
                           std::uint64_t steps);

}  // namespace xgrad
