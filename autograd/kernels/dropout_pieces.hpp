// Computes dropout factors piece by piece for the ops that multiply by them. Internal.
#pragma once

#include <algorithm>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad::detail {

/// Throws ShapeError unless 0 <= p < 1 and, if p > 0, rng is set.
inline void check_dropout(const char* op, const DropoutOptions& dropout) {
  check_shape(dropout.p >= 0 && dropout.p < 1, op, ": expected 0 <= p < 1, got ", dropout.p);
  check_shape(dropout.p == 0 || dropout.rng, op, ": dropout with p = ", dropout.p,
              " needs rng, a stream of random numbers");
}

/// Calls f(factor), where factor(j) is factors[j], or 1 if factors is null.
template <class T, class F>
auto with_factors(const T* factors, const F& f) {
  return factors != nullptr ? f([factors](std::size_t j) { return factors[j]; })
                            : f([](std::size_t) { return T(1); });
}

/// Cuts a tensor of this shape into pieces of whole rows. Calls body(offset, factors, n) for each
/// piece, in parallel. The piece has n elements, from `offset` on. `factors` has n dropout factors,
/// or is null if p is 0. Equal options give equal factors.
template <class T, class Body>
void for_each_dropout_piece(const char* op, const Shape& shape, const DropoutOptions& options,
                            const Body& body) {
  const RowLayout rows = rows_of(op, shape);
  if (options.p == 0) {
    return for_each_row(rows,
                        [&](std::size_t at) { body(at, static_cast<T*>(nullptr), rows.width); });
  }
  if (rows.count == 0) return;
  const std::size_t tokens = shape.size() < 2 ? 1 : rows.count / shape[0];
  const std::size_t most =
      std::max<std::size_t>(1, 4096 / std::max<std::size_t>(1, rows.width));  // rows per piece
  parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
    Tensor<T> factors = empty<T>({most * rows.width});
    for (std::size_t row = begin; row < end;) {
      const std::size_t sample = row / tokens, token = row % tokens;
      const std::size_t count = std::min({most, tokens - token, end - row});
      dropout_factors(*options.rng, options.p, options.first_sample + std::uint32_t(sample), 0,
                      std::uint32_t(token), count, rows.width, factors.data(), rows.width);
      body(row * rows.width, factors.data(), count * rows.width);
      row += count;
    }
  });
}

}  // namespace xgrad::detail
