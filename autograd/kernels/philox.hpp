// Philox4x32-10 (Salmon et al. 2011) for several counters at once. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include <xgrad/autograd/kernels/lanes.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace xgrad::detail {

// Each lane has one word of a counter in its lower half. The upper half is ignored.
typedef std::uint64_t PhiloxLanes __attribute__((vector_size(kRegisterBytes)));
inline constexpr int kPhiloxLanes = kRegisterBytes / 8;

/// With this N, all words of philox()'s argument c[4][N] fit the vector registers.
inline constexpr int kPhiloxVectors = kRegisterBytes == 64 ? 4 : 2;

/// The 64-bit product of b and the lower half of a.
inline std::uint64_t multiply_low(std::uint64_t a, std::uint32_t b) {
  return (a & 0xFFFFFFFFu) * b;
}
/// multiply_low() in every lane. Uses intrinsics, since GCC would multiply 64 by 64 bits.
inline PhiloxLanes multiply_low(PhiloxLanes a, std::uint32_t b) {
#if defined(__AVX512F__)
  // The mask of ones avoids a warning of GCC 12 in its own header (bug 105593).
  return PhiloxLanes(_mm512_maskz_mul_epu32(0xFF, __m512i(a), _mm512_set1_epi64(b)));
#elif defined(__AVX2__)
  return PhiloxLanes(_mm256_mul_epu32(__m256i(a), _mm256_set1_epi64x(b)));
#elif defined(__SSE2__)
  return PhiloxLanes(_mm_mul_epu32(__m128i(a), _mm_set1_epi64x(b)));
#else
  return (a & 0xFFFFFFFFu) * std::uint64_t(b);
#endif
}

/// Replaces each counter of four words by four random words. c[w] has word w of all counters. Lanes
/// is PhiloxLanes, with a counter per lane, or std::uint64_t, with one counter.
template <class Lanes, int N>
inline void philox(std::uint64_t key, Lanes (&c)[4][N]) {
  std::uint32_t k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      const Lanes p0 = multiply_low(c[0][i], 0xD2511F53u);
      const Lanes p1 = multiply_low(c[2][i], 0xCD9E8D57u);
      c[0][i] = (p1 >> 32) ^ c[1][i] ^ std::uint64_t(k0);
      c[2][i] = (p0 >> 32) ^ c[3][i] ^ std::uint64_t(k1);
      c[1][i] = p1;
      c[3][i] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

}  // namespace xgrad::detail
