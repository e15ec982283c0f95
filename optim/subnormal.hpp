// Replaces subnormal numbers by 0. Internal.
#pragma once

#include <cmath>
#include <limits>

namespace xgrad::detail {

// A decaying mean would otherwise become subnormal, and arithmetic on subnormals is slow.
template <class T>
T without_subnormals(T x) {
  return std::abs(x) < std::numeric_limits<T>::min() ? T(0) : x;
}

}  // namespace xgrad::detail
