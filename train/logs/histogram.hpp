// Histogram: counts of numbers in TensorFlow's default buckets.
#pragma once

#include <cstddef>
#include <vector>

namespace xgrad {

/// Bucket i counts limits[i-1] <= x < limits[i]. The limits are 0 and +-1e-12 * 1.1^k, the same as
/// in TensorFlow and PyTorch, so that pictures look alike. Buckets before the first and after the
/// last number are left out.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;
  std::size_t count = 0;
  std::vector<double> limits, counts;
};

/// Counts numbers. Requires: all are finite. No numbers give an empty histogram.
template <class T>
Histogram histogram(const T* x, std::size_t count);

}  // namespace xgrad
