// Loops over elements, shared by ops. Internal.
#pragma once

#include <algorithm>
#include <cstddef>

#include <xgrad/autograd/parallel.hpp>

namespace xgrad::detail {

/// Elements in a block of a parallel loop: enough to pay for a task, few enough to fit the cache.
constexpr std::size_t kElementGrain = 16384;

/// The number of rows of this width in such a block.
inline std::size_t row_grain(std::size_t width) {
  return std::max<std::size_t>(1, kElementGrain / std::max<std::size_t>(1, width));
}

/// Calls f(i) for every i in [0, n), vectorised, and in parallel when n is large. f(i) may access
/// only element i.
template <class F>
void for_elements(std::size_t n, const F& f) {
  parallel_for(n, kElementGrain, [&](std::size_t begin, std::size_t end) {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace xgrad::detail
