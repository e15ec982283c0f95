// Means that decay. Internal.
#pragma once

#include <cmath>
#include <limits>

namespace xgrad::detail {

// A mean that decays without end would stay a subnormal number, with which processors are slow.
template <class T>
T without_subnormals(T x) {
  return std::abs(x) < std::numeric_limits<T>::min() ? T(0) : x;
}

}  // namespace xgrad::detail
