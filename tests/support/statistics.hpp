// Tests of samples against the distribution that they should have. A sample that has it fails once
// in 100,000 times; tests use fixed seeds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

namespace xgrad::test {

/// The standard normal distribution function.
inline double normal_cdf(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// Whether values come from the continuous distribution function `below` (Kolmogorov and Smirnov).
inline testing::AssertionResult comes_from(std::vector<double> values,
                                           const std::function<double(double)>& below) {
  std::sort(values.begin(), values.end());
  const double n = double(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = below(values[i]);
    distance = std::max({distance, double(i + 1) / n - p, p - double(i) / n});
  }
  if (n > 0 && distance * std::sqrt(n) < 2.47) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "the distribution of " << n << " values is off by " << distance;
}

/// Whether counts fit the expected counts, whose sum is the same (chi-square). Adds up the cells
/// with expected counts below 5.
inline testing::AssertionResult counts_fit(const std::vector<double>& counts,
                                           const std::vector<double>& expected) {
  double squares = 0, cells = 0, rest = 0, expected_rest = 0;
  const auto add = [&](double count, double mean) {
    squares += (count - mean) * (count - mean) / mean;
    cells += 1;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] >= 5) {
      add(counts[i], expected[i]);
    } else {
      rest += counts[i];
      expected_rest += expected[i];
    }
  }
  if (expected_rest >= 5) add(rest, expected_rest);
  if (expected_rest == 0 && rest > 0) {
    return testing::AssertionFailure() << rest << " values where there should be none";
  }
  if (cells < 2) return testing::AssertionFailure() << "only " << cells << " cells";
  // Wilson and Hilferty 1931: the cube root of chi-square is nearly normal.
  const double f = cells - 1, part = 2 / (9 * f);
  const double most = f * std::pow(1 - part + 4.265 * std::sqrt(part), 3);
  if (squares < most) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "chi-square is " << squares << " with " << f
                                     << " degrees of freedom, more than " << most;
}

}  // namespace xgrad::test
