// Passes over the scores of attention. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <xgrad/autograd/kernels/attention_kernel.hpp>
#include <xgrad/autograd/kernels/rows.hpp>

namespace xgrad::detail {

/// The score of a key that the query may not see.
template <class T>
inline constexpr T kHidden = -std::numeric_limits<T>::infinity();

/// s += bias, for rows [begin, begin + rows) and keys [first, first + keys) of a head.
template <class T>
void add_bias(const AttentionBias<T>& bias, std::size_t b, std::size_t h, std::size_t begin,
              std::size_t rows, std::size_t first, std::size_t keys, T* s, std::size_t stride) {
  const T* in = bias.data + b * bias.sample + h * bias.head + begin * bias.row + first * bias.key;
  const std::size_t step = bias.key;
  for (std::size_t i = 0; i < rows; ++i, in += bias.row, s += stride) {
#pragma omp simd
    for (std::size_t j = 0; j < keys; ++j) s[j] += in[j * step];
  }
}

/// Hides the keys that `keep` does not keep.
template <class T>
void hide(T* s, const std::uint8_t* keep, std::size_t keys) {
  for (std::size_t j = 0; j < keys; ++j) s[j] = keep[j] ? s[j] : kHidden<T>;
}

/// Replaces scores s by e^(s - largest) times the dropout factor. Returns the sum without factors.
template <class T, class Factor>
T exponentiate(T* s, std::size_t n, T largest, const Factor& factor) {
  return sum_terms<T>(n, [=](std::size_t j) {
    const T e = detail::exp(s[j] - largest);
    s[j] = e * factor(j);
    return e;
  });
}

/// Replaces scores s by probabilities p, and the gradients ds of probabilities after dropout by
/// factor ds - mean. Returns the sum of p times the new ds.
template <class T, class Factor>
T subtract_mean(T* s, T* ds, std::size_t n, const T* normaliser, T mean, const Factor& factor) {
  const T largest = normaliser[0], inverse = normaliser[1];
  return sum_terms<T>(n, [=](std::size_t j) {
    s[j] = detail::exp(s[j] - largest) * inverse;
    ds[j] = factor(j) * ds[j] - mean;
    return s[j] * ds[j];
  });
}

/// Replaces the differences ds by gradients of the scores, and the probabilities s by probabilities
/// after dropout.
template <class T, class Factor>
void differentiate(T* s, T* ds, std::size_t n, T error, const Factor& factor) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    ds[j] = s[j] * (ds[j] - error);
    s[j] *= factor(j);
  }
}

/// Calls f(factor), where factor(j) is factors[j], or 1 if factors is null.
template <class T, class F>
auto with_factors(const T* factors, const F& f) {
  return factors != nullptr ? f([factors](std::size_t j) { return factors[j]; })
                            : f([](std::size_t) { return T(1); });
}

/// Keys rounded up to whole lanes.
template <class T>
std::size_t padded(std::size_t keys) {
  return (keys + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

/// Pads every row with `value` up to whole lanes, so that loops over keys have no remainder.
template <class T>
void pad_rows(T* x, std::size_t rows, std::size_t stride, std::size_t keys, T value) {
  for (std::size_t i = 0; i < rows; ++i)
    std::fill(x + i * stride + keys, x + i * stride + padded<T>(keys), value);
}

}  // namespace xgrad::detail
