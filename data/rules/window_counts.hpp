// WindowCounts: the most frequent class for a token and its neighbours.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// Predicts the class of a token from the tokens around it, by counting. Positions outside the
/// sequence count as a special token.
class WindowCounts {
 public:
  /// Counts classes for each window of radius 0 to `radius` around a token, in the first `most`
  /// examples.
  WindowCounts(const Dataset& train, std::size_t most, std::size_t radius);

  /// Returns the most frequent class for the token at `at` with `radius` tokens on each side. If
  /// that window was not seen in training, tries smaller ones, then returns the most frequent class
  /// of all. Ties go to the smallest class. Requires: a class for each token, and most_frequent().
  std::int32_t guess(const Example& example, std::size_t at, std::size_t radius) const;
  /// The most frequent class of all; nothing if no target counts.
  std::optional<std::int32_t> most_frequent() const { return most_frequent_; }

 private:
  // Most frequent class by window, keyed by its ids as bytes.
  using Classes = std::unordered_map<std::string, std::int32_t>;

  std::vector<Classes> known_;  // most frequent classes, by radius
  std::optional<std::int32_t> most_frequent_;
};

}  // namespace xgrad
