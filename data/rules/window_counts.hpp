// WindowCounts: the most frequent class for a token and its neighbours.
#pragma once

#include <string>
#include <unordered_map>

#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// Predicts the class of a token from the tokens around it, by counting. Positions outside the
/// sequence count as a special token.
class WindowCounts {
 public:
  /// Counts classes for each window of radius 0 to `radius` around a token, in the first `most`
  /// examples. Requires: a class for each token, and at least one that is not kIgnore.
  WindowCounts(const Dataset& train, std::size_t most, std::size_t radius);

  /// Returns the most frequent class for the token at `at` with `radius` tokens on each side. If
  /// that window was not seen in training, tries smaller ones, then returns the most frequent class
  /// of all. Ties go to the smallest class.
  std::int32_t guess(const Example& example, std::size_t at, std::size_t radius) const;

 private:
  // Most frequent class by window, keyed by its ids as bytes.
  using Classes = std::unordered_map<std::string, std::int32_t>;

  std::vector<Classes> known_;  // most frequent classes, by radius
  std::int32_t most_frequent_ = 0;
};

}  // namespace xgrad
