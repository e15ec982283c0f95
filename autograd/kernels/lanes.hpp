// Sums and maxima over a row in vector lanes, for kernels. Internal.
//
// `#pragma omp simd reduction` adds the lanes one after another at the end, which costs more than a
// short row itself. These functions repeatedly fold the lanes in half instead. The order of the
// operations depends on the length alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace xgrad::detail {

/// Elements per vector; rows padded to a multiple of it leave no remainder.
template <class T>
inline constexpr std::size_t kLanes = std::is_same_v<T, long double> ? 1 : 64 / sizeof(T);

template <class T>
struct LanesOf {
  typedef T type __attribute__((vector_size(64)));
};
template <>
struct LanesOf<long double> {
  using type = long double;
};
template <class T>
using Lanes = typename LanesOf<T>::type;

// Combines the lanes of v by halves. op(v, w) stores its result in v.
template <std::size_t shift, class V, class Op, std::size_t... i>
void fold(V& v, const Op& op, std::index_sequence<i...> lanes) {
  if constexpr (shift > 0) {
    const V w = __builtin_shufflevector(v, v, int((i + shift) % sizeof...(i))...);
    op(v, w);
    fold<shift / 2>(v, op, lanes);
  }
}

/// Folds term(0) ... term(n - 1) with op(total, terms). `start` is op's neutral element.
template <class T, class Op, class Term>
T fold_terms(std::size_t n, T start, const Op& op, const Term& term) {
  constexpr std::size_t lanes = kLanes<T>;
  alignas(64) T terms[lanes];
  std::fill_n(terms, lanes, start);
  Lanes<T> total, next;
  std::memcpy(&total, terms, sizeof(terms));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    alignas(64) T full[lanes];
#pragma omp simd
    for (std::size_t lane = 0; lane < lanes; ++lane) full[lane] = term(i + lane);
    std::memcpy(&next, full, sizeof(full));
    op(total, next);
  }
  if (i < n) {
    for (std::size_t lane = 0; i + lane < n; ++lane) terms[lane] = term(i + lane);
    std::memcpy(&next, terms, sizeof(terms));
    op(total, next);
  }
  if constexpr (lanes == 1) {
    return total;
  } else {
    fold<lanes / 2>(total, op, std::make_index_sequence<lanes>());
    return total[0];
  }
}

/// term(0) + ... + term(n - 1). Calls `term` once per index, so it may also write that element.
template <class T, class Term>
T sum_terms(std::size_t n, const Term& term) {
  return fold_terms(
      n, T(0), [](auto& total, const auto& next) { total += next; }, term);
}

/// The largest term; -inf when n is 0 or all terms are NaN.
template <class T, class Term>
T max_terms(std::size_t n, const Term& term) {
  return fold_terms(
      n, -std::numeric_limits<T>::infinity(),
      [](auto& total, const auto& next) { total = next > total ? next : total; }, term);
}

}  // namespace xgrad::detail
