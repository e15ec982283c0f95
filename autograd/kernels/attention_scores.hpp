// Passes over the scores of attention. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <xgrad/autograd/kernels/attention_kernel.hpp>
#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/kernels/loops.hpp>

namespace xgrad::detail {

/// The largest number of keys in a piece. Rows of scores are cut into pieces, because products of
/// long rows are slow: rows of 4,096 scores lie whole pages apart, so their first cache lines
/// compete for the same few cache sets.
inline constexpr std::size_t kPieceKeys = 240;

constexpr std::size_t pieces_of(std::size_t keys) {
  return (keys + kPieceKeys - 1) / kPieceKeys;
}

/// The score of a key that the query may not see.
template <class T>
inline constexpr T kHidden = -std::numeric_limits<T>::infinity();

/// Adds a bias to scores. The elements of the bias are `step` apart.
template <class T>
void add_bias(T* s, const T* bias, std::size_t step, std::size_t keys) {
#pragma omp simd
  for (std::size_t j = 0; j < keys; ++j) s[j] += bias[j * step];
}

/// Hides key j if keep[j] is 0.
template <class T>
void hide(T* s, const std::uint8_t* keep, std::size_t keys) {
  for (std::size_t j = 0; j < keys; ++j) s[j] = keep[j] ? s[j] : kHidden<T>;
}

/// Replaces scores s by e^(s - largest) times the dropout factor. Returns the sum before dropout.
template <class T, class Factor>
T exponentiate(T* s, std::size_t n, T largest, const Factor& factor) {
  return sum_terms<T>(n, [=](std::size_t j) {
    const T e = detail::exp(s[j] - largest);
    s[j] = e * factor(j);
    return e;
  });
}

/// Replaces the scores s by the probabilities p, and ds by factor * ds - mean. On entry, ds is the
/// gradient of the probabilities after dropout. `normaliser` holds two numbers of this query, from
/// the tensor that attention_forward() returns. `mean` is the sum of p * factor * ds over all keys
/// of the query, or 0 if unknown. Returns the sum of p times the new ds.
template <class T, class Factor>
T subtract_mean(T* s, T* ds, std::size_t n, const T* normaliser, T mean, const Factor& factor) {
  const T largest = normaliser[0], inverse = normaliser[1];
  return sum_terms<T>(n, [=](std::size_t j) {
    s[j] = detail::exp(s[j] - largest) * inverse;
    ds[j] = factor(j) * ds[j] - mean;
    return s[j] * ds[j];
  });
}

/// Continues after subtract_mean(). `error` is the sum that subtract_mean() returned: the rounding
/// error of the mean, or the mean itself if it was unknown. Replaces the differences ds by the
/// gradients of the scores, and the probabilities s by the probabilities after dropout.
template <class T, class Factor>
void differentiate(T* s, T* ds, std::size_t n, T error, const Factor& factor) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    ds[j] = s[j] * (ds[j] - error);
    s[j] *= factor(j);
  }
}

/// Does subtract_mean() and differentiate() in one pass, but subtracts no error.
template <class T, class Factor>
[[gnu::noinline]] void differentiate_piece(T* s, T* ds, std::size_t n, const T* normaliser, T mean,
                                           const Factor& factor) {
  const T largest = normaliser[0], inverse = normaliser[1];
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const T p = detail::exp(s[j] - largest) * inverse, f = factor(j);
    ds[j] = p * (f * ds[j] - mean);
    s[j] = p * f;
  }
}

/// x . y
template <class T, class E>
[[gnu::noinline]] T row_dot(const E* x, const E* y, std::size_t n) {
  return sum_terms<T>(n, [=](std::size_t i) { return T(x[i]) * T(y[i]); });
}

/// Writes zeros to rows [begin, end) of a gradient if nothing was added to it yet (beta 0).
template <class T>
void zero_rows(const GradientTokens<T>& d, std::size_t b, std::size_t h, std::size_t begin,
               std::size_t end) {
  if (!d.data || d.beta != T(0)) return;
  for (std::size_t n = begin; n < end; ++n) std::fill_n(d.head(b, h) + n * d.row, d.width, T(0));
}

/// The number of keys, rounded up to a multiple of kLanes<T>.
template <class T>
std::size_t padded(std::size_t keys) {
  return (keys + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

}  // namespace xgrad::detail
