// Histogram: how many numbers lie in each of TensorFlow's default buckets.
#pragma once

#include <cstddef>
#include <vector>

namespace xgrad {

/// Bucket i counts limits[i-1] <= x < limits[i]. The limits are 0 and +-1e-12 * 1.1^k, as
/// TensorFlow and PyTorch have them, so that pictures look alike; buckets before the first number
/// and after the last are left out.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;
  std::size_t count = 0;
  std::vector<double> limits, counts;
};

/// Requires: all finite. Nothing gives an empty histogram.
template <class T>
Histogram histogram(const T* x, std::size_t count);

}  // namespace xgrad
