// The packed product of bfloat16 matrices for x86-64-v4 with AVX512_BF16; only this file is
// compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

/// A float of a packed block holds the bits of a pair; its value as a float has no meaning.
template <>
struct Step<Avx512Bf16, float> {
  using Vec = Simd<Avx512Bf16, float>::Vec;
  static Vec broadcast(float pair) { return Vec(_mm512_set1_epi32(__builtin_bit_cast(int, pair))); }
  static Vec add_products(Vec a, Vec b, Vec c) {
    return _mm512_dpbf16_ps(c, __m512bh(a), __m512bh(b));
  }
};

template <>
struct Source<Avx512Bf16, float, Bf16> : Pairs<Avx512Bf16, true> {};

// Tiles cannot read A in place, because the pairs of A are swapped only by packing.
template <>
inline constexpr bool kStepsInPlace<Avx512Bf16> = false;

template void packed_gemm<Avx512Bf16>(const Product<float, Bf16>&, void*);

}  // namespace xgrad::detail
