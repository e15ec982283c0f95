// Bf16: bfloat16 numbers, the operands of products in mixed precision.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace xgrad {

/// A bfloat16 number: the upper half of a float, that is the sign, the 8 bits of the exponent and 7
/// bits of the fraction. It has the range of float and about 2.4 decimal digits. Bf16 has no
/// arithmetic of its own: products of Bf16 matrices add in float.
struct Bf16 {
  std::uint16_t bits;  ///< sign, exponent, fraction, from the highest bit down

  Bf16() = default;
  /// Rounds x to the nearest bfloat16, and ties to even. Subnormals are kept. A float that exceeds
  /// the largest bfloat16 by half an ulp or more becomes infinity. NaN becomes a quiet NaN with the
  /// same sign.
  explicit Bf16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = u + 0x7fff + (u >> 16 & 1);
    const std::uint32_t quiet = u | 0x400000;
    bits = std::uint16_t(((u & 0x7fffffff) > 0x7f800000 ? quiet : nearest) >> 16);
  }
  /// The same number as a float; exact.
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};

namespace detail {

/// to[i] = Bf16(from[i]) for i < n. Compilers vectorize assignments of bits, and not of structs.
template <class T>
[[gnu::always_inline]] inline void round_to_bf16(const T* from, std::size_t n, Bf16* to) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i].bits = Bf16(float(from[i])).bits;
}

}  // namespace detail

}  // namespace xgrad
