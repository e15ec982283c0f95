// The packed product of bfloat16 matrices for x86-64-v4 with AVX512_BF16; only this file is
// compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

/// Its instruction multiplies two vectors of pairs, and adds both products of a pair to a float.
struct Avx512Bf16 {
  static constexpr std::size_t kBytes = 64;
};

/// A float of a packed block holds the bits of a pair; it is no number.
template <>
struct Step<Avx512Bf16, float> {
  using Vec = typename VectorsOf<Avx512Bf16, float>::Vec;
  static Vec spread(float pair) { return Vec(_mm512_set1_epi32(__builtin_bit_cast(int, pair))); }
  static Vec add_products(Vec a, Vec b, Vec c) {
    return _mm512_dpbf16_ps(c, __m512bh(a), __m512bh(b));
  }
};

/// Reads pairs: two terms of a sum, the first in the lower half. The term after the last is 0.
template <>
struct Source<Avx512Bf16, float, Bf16> {
  static constexpr std::size_t kTerms = 2;
  using Vec = typename VectorsOf<Avx512Bf16, float>::Vec;
  using Words = typename VectorsOf<Avx512Bf16, std::uint32_t>::Vec;
  typedef float Unaligned __attribute__((vector_size(64), aligned(alignof(Bf16)), may_alias));

  static Words row(const Bf16* from) {
    using Halves = VectorsOf<Avx512Bf16, std::uint16_t>::HalfUnaligned;
    return __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words);
  }
  static float pair(std::uint32_t first, std::uint32_t second) {
    return __builtin_bit_cast(float, first | second << 16);
  }

  static Vec load(const Across<Bf16>& from) {
    const Words first = row(from.first);
    return Vec(from.terms > 1 ? first | row(from.first + from.stride) << 16 : first);
  }
  static Vec load_part(const Across<Bf16>& from, std::size_t columns) {
    Vec part = {};
    for (std::size_t i = 0; i < columns; ++i) part[i] = one(from + i);
    return part;
  }
  static float one(const Across<Bf16>& from) {
    return pair(from.first->bits, from.terms > 1 ? from.first[from.stride].bits : 0);
  }

  static Vec load(const Bf16* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static Vec load_part(const Bf16* from, std::size_t terms) {
    Vec part = {};
    for (std::size_t i = 0; i < terms; i += 2) part[i / 2] = one(from + i, terms - i);
    return part;
  }
  static float one(const Bf16* from, std::size_t terms) {
    return pair(from[0].bits, terms > 1 ? from[1].bits : 0);
  }
};

void packed_gemm_avx512_bf16(const Product<float, Bf16>& product, void* scratch) {
  multiply<Avx512Bf16>(product, static_cast<float*>(scratch));
}

}  // namespace xgrad::detail
