// Loops over elements, shared by ops. Not installed.
#pragma once

#include <algorithm>
#include <cstddef>

#include <xgrad/autograd/parallel.hpp>

namespace xgrad::detail {

/// A block of elementwise work: large enough to pay for a task, small enough to stay in cache.
constexpr std::size_t kElementGrain = 16384;

/// Rows of this width that make such a block.
inline std::size_t row_grain(std::size_t width) {
  return std::max<std::size_t>(1, kElementGrain / std::max<std::size_t>(1, width));
}

/// Calls f(i) for every i in [0, n): vectorised, in parallel when n is large. f must touch element
/// i alone.
template <class F>
void for_elements(std::size_t n, const F& f) {
  parallel_for(n, kElementGrain, [&](std::size_t begin, std::size_t end) {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace xgrad::detail
