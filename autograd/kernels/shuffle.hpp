// shuffle(): selects lanes of two vectors.
#pragma once

namespace xgrad::detail {

/// Returns a vector v: v[i] is lane lanes[i] of a and b, concatenated. This is GCC's
/// __builtin_shuffle, which clang lacks.
template <class Vec, class Lanes>
[[gnu::always_inline]] inline Vec shuffle(Vec a, Vec b, Lanes lanes) {
#ifdef __clang__
  constexpr int kLanes = sizeof(Vec) / sizeof(a[0]);
  Vec chosen = {};
  for (int i = 0; i < kLanes; ++i) {
    chosen[i] = lanes[i] < kLanes ? a[lanes[i]] : b[lanes[i] - kLanes];
  }
  return chosen;
#else
  return __builtin_shuffle(a, b, lanes);
#endif
}

}  // namespace xgrad::detail
