// Range: consecutive numbers. share(): divides numbers among several processes.
#pragma once

#include <algorithm>
#include <cstddef>

namespace xgrad {

/// The numbers from begin to end - 1.
struct Range {
  std::size_t begin = 0;  ///< first number
  std::size_t end = 0;    ///< number after the last one

  /// How many numbers it has.
  std::size_t size() const { return end - begin; }
  /// Compares both members.
  friend bool operator==(const Range&, const Range&) = default;
};

/// Cuts the numbers 0 ... n - 1 into `count` consecutive parts whose sizes differ by at most 1, and
/// returns part `index`. Requires: index < count.
constexpr Range share(std::size_t n, std::size_t index, std::size_t count) {
  return {n / count * index + std::min(index, n % count),
          n / count * (index + 1) + std::min(index + 1, n % count)};
}

}  // namespace xgrad
