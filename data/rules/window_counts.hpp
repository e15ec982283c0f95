// WindowCounts: what most often goes with a token and its neighbours.
#pragma once

#include <string>
#include <unordered_map>

#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// Guesses the class of a token from the tokens around it, by counting. What lies before the first
/// token and behind the last counts as a token of its own.
class WindowCounts {
 public:
  /// Counts what goes with each token alone, with it and one to each side, and so on up to
  /// `radius`, in the first `most` examples. Requires: a class for each token, and one that counts.
  WindowCounts(const Dataset& train, std::size_t most, std::size_t radius);

  /// The class that most often went with the token at `at` and `radius` tokens to each side; where
  /// these were not seen together, with fewer; and with any token where it was not seen either. Of
  /// equals the smallest.
  std::int32_t guess(const Example& example, std::size_t at, std::size_t radius) const;

 private:
  using Classes =
      std::unordered_map<std::string, std::int32_t>;  // by the ids of a window, as bytes

  std::vector<Classes> known_;  // by radius
  std::int32_t most_frequent_ = 0;
};

}  // namespace xgrad
