#include <xgrad/train/ranks/metrics_sum.hpp>

namespace xgrad {

Metrics add_up(Ranks& ranks, const std::vector<Metrics>& own) {
  std::vector<double> numbers;
  for (const Metrics& metrics : own) {
    const std::vector<double> more = metrics.to_numbers();
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  numbers = gather_numbers(ranks, numbers);
  Metrics sum;
  for (std::size_t at = 0; at < numbers.size();) sum.add(Metrics::from_numbers(numbers, at));
  return sum;
}

}  // namespace xgrad
