// The sums of a whole from those of its shards.
#pragma once

#include <vector>

#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// The sums of all shards together, added to `sum` in the order of the shards. `own` are those of
/// this rank's shards, in order.
template <class Sums>
Sums add_up(Ranks& ranks, const std::vector<Sums>& own, Sums sum = Sums()) {
  std::vector<double> numbers;
  for (const Sums& part : own) {
    const std::vector<double> more = part.to_numbers();
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  numbers = gather_numbers(ranks, numbers);
  for (std::size_t at = 0; at < numbers.size();) sum.add(Sums::from_numbers(numbers, at));
  return sum;
}

}  // namespace xgrad
