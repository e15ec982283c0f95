// Sums and maxima over a row in vector lanes, for kernels. Internal.
//
// `#pragma omp simd reduction` adds the lanes one after another at the end, which costs more than a
// short row itself. These functions repeatedly fold the lanes in half instead. The order of the
// operations depends on the length alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

namespace xgrad::detail {

/// Bytes of a vector register. A wider vector would live in memory.
#if defined(__AVX512F__)
inline constexpr std::size_t kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kRegisterBytes = 32;
#else
inline constexpr std::size_t kRegisterBytes = 16;
#endif

/// The number of lanes of a fold, the same for every processor. Rows padded to a multiple of this
/// number leave no remainder.
template <class T>
inline constexpr std::size_t kLanes = std::is_same_v<T, long double> ? 1 : 64 / sizeof(T);

/// A register of lanes.
template <class T>
struct LanesOf {
  typedef T type __attribute__((vector_size(kRegisterBytes)));
};
template <>
struct LanesOf<long double> {
  using type = long double;
};
template <class T>
using Lanes = typename LanesOf<T>::type;

/// The register of lanes at x, which need not be aligned.
template <class T>
Lanes<T> load_lanes(const T* x) {
  Lanes<T> lanes;
  std::memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}

// Combines the lanes of v by halves. op(v, w) stores its result in v.
template <std::size_t shift, class V, class Op, std::size_t... i>
void fold(V& v, const Op& op, std::index_sequence<i...> lanes) {
  if constexpr (shift > 0) {
    const V w = __builtin_shufflevector(v, v, int((i + shift) % sizeof...(i))...);
    op(v, w);
    fold<shift / 2>(v, op, lanes);
  }
}

/// Fills a register with term(0) ... term(n - 1), and the lanes after them with `rest`. n may
/// exceed the lanes of a register. The loop has a constant length, so that the compiler turns it
/// into masked instructions; a loop up to n would go through memory.
template <class T, class Term>
Lanes<T> first_lanes(unsigned n, T rest, const Term& term) {
  constexpr unsigned width = sizeof(Lanes<T>) / sizeof(T);
  alignas(kRegisterBytes) T terms[width];
#pragma omp simd
  for (unsigned lane = 0; lane < width; ++lane) terms[lane] = lane < n ? term(lane) : rest;
  return load_lanes(terms);
}

/// Folds term(0) ... term(n - 1) with op(total, terms) in `lanes` lanes. More lanes hide op's
/// latency in long rows. `start` is op's neutral element, and terms_at(i) is the register of
/// term(i) and the terms after it.
template <std::size_t lanes, class T, class Op, class TermsAt, class Term>
T fold_registers(std::size_t n, T start, const Op& op, const TermsAt& terms_at, const Term& term) {
  constexpr std::size_t width = sizeof(Lanes<T>) / sizeof(T), registers = lanes / width;
  Lanes<T> total[registers];
  for (Lanes<T>& part : total) part = Lanes<T>{} + start;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < registers; ++r) op(total[r], terms_at(i + r * width));
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < registers; ++r, i += width) {
    if (i >= n) break;
    const auto later = [&term, i](unsigned lane) { return term(i + lane); };
    op(total[r], first_lanes<T>(unsigned(n - i), start, later));
  }
#pragma GCC unroll 16
  for (std::size_t half = registers / 2; half > 0; half /= 2) {
    for (std::size_t r = 0; r < half; ++r) op(total[r], total[r + half]);
  }
  if constexpr (width == 1) {
    return total[0];
  } else {
    fold<width / 2>(total[0], op, std::make_index_sequence<width>());
    return total[0][0];
  }
}

/// fold_registers() of terms that `term` computes.
template <std::size_t lanes, class T, class Op, class Term>
T fold_terms(std::size_t n, T start, const Op& op, const Term& term) {
  const auto terms_at = [&term](std::size_t i) {
    alignas(kRegisterBytes) T terms[sizeof(Lanes<T>) / sizeof(T)];
#pragma omp simd
    for (std::size_t lane = 0; lane < std::size(terms); ++lane) terms[lane] = term(i + lane);
    return load_lanes(terms);
  };
  return fold_registers<lanes>(n, start, op, terms_at, term);
}

/// fold_registers() of the elements of x. Loads registers from x directly; with fold_terms(), the
/// compiler would copy the elements through memory first.
template <class T, class Op>
T fold_elements(const T* x, std::size_t n, T start, const Op& op) {
  return fold_registers<kLanes<T>>(
      n, start, op, [x](std::size_t i) { return load_lanes(x + i); },
      [x](std::size_t i) { return x[i]; });
}

constexpr auto kAdd = [](auto& total, const auto& next) { total += next; };
constexpr auto kKeepLarger = [](auto& total, const auto& next) {
  total = next > total ? next : total;
};

/// term(0) + ... + term(n - 1). Calls `term` once per index, so term(i) may also write element i.
template <class T, std::size_t lanes = kLanes<T>, class Term>
T sum_terms(std::size_t n, const Term& term) {
  return fold_terms<lanes>(n, T(0), kAdd, term);
}

/// The sum of the elements of x.
template <class T>
T row_sum(const T* x, std::size_t n) {
  return fold_elements(x, n, T(0), kAdd);
}

/// The largest element of x; -inf when n is 0 or all elements are NaN.
template <class T>
T row_max(const T* x, std::size_t n) {
  return fold_elements(x, n, -std::numeric_limits<T>::infinity(), kKeepLarger);
}

}  // namespace xgrad::detail
