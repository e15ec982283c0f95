// Vectors of an instruction set, by GCC's vector extensions. Not installed.
//
// Every function here and in pack.hpp, tile.hpp and blocks.hpp is a template on the instruction
// set. Compiled with the flags of different sets, it therefore gets different names, and the linker
// cannot merge the versions.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <type_traits>

#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>

namespace xgrad::detail {

/// Vectors of T: of the whole registers of a class.
template <class Isa, class T>
struct Simd {
  static constexpr std::size_t kLanes = Isa::kBytes / sizeof(T);
  static constexpr bool kFloat = std::is_same_v<T, float>;
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  typedef T Unaligned __attribute__((vector_size(Isa::kBytes), aligned(alignof(T)), may_alias));

  static Vec load(const T* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(T* to, Vec v) { *reinterpret_cast<Unaligned*>(to) = v; }
  static Vec broadcast(T x) { return x - Vec{}; }  // the number x in every lane

  /// a b + c, rounded twice. Classes with FMA round once and name the instruction, because a
  /// compiler may fuse in one tile and not in another; the bits would then depend on the tile.
  static Vec multiply_add(Vec a, Vec b, Vec c) {
#if defined(__x86_64__)
    if constexpr (Isa::kBytes == 64 && kFloat) {
      return _mm512_fmadd_ps(a, b, c);
    } else if constexpr (Isa::kBytes == 64) {
      return _mm512_fmadd_pd(a, b, c);
    } else if constexpr (std::is_same_v<Isa, Avx2> && kFloat) {
      return _mm256_fmadd_ps(a, b, c);
    } else if constexpr (std::is_same_v<Isa, Avx2>) {
      return _mm256_fmadd_pd(a, b, c);
    }
#endif
    return a * b + c;
  }

  /// Loads the first `count` < kLanes elements, and zeros. Reads no memory beyond them.
  static Vec load_part(const T* from, std::size_t count) {
#if defined(__x86_64__)
    if constexpr (Isa::kBytes == 64 && kFloat) {
      return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from);
    } else if constexpr (Isa::kBytes == 64) {
      return _mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
    } else if constexpr (std::is_same_v<Isa, Avx2> && kFloat) {
      return _mm256_maskload_ps(from, mask(count));
    } else if constexpr (std::is_same_v<Isa, Avx2>) {
      return _mm256_maskload_pd(from, mask(count));
    }
#endif
    Vec v = {};
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) v[i] = from[i];
    }
    return v;
  }

  /// Stores the first `count` < kLanes elements. Touches no memory beyond them.
  static void store_part(T* to, Vec v, std::size_t count) {
#if defined(__x86_64__)
    if constexpr (Isa::kBytes == 64 && kFloat) {
      return _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), v);
    } else if constexpr (Isa::kBytes == 64) {
      return _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), v);
    } else if constexpr (std::is_same_v<Isa, Avx2> && kFloat) {
      return _mm256_maskstore_ps(to, mask(count), v);
    } else if constexpr (std::is_same_v<Isa, Avx2>) {
      return _mm256_maskstore_pd(to, mask(count), v);
    }
#endif
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) to[i] = v[i];
    }
  }

#if defined(__x86_64__)
 private:
  // All ones in the first `count` elements, for AVX2.
  static __m256i mask(std::size_t count) {
    if constexpr (kFloat) {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    } else {
      return _mm256_cmpgt_epi64(_mm256_set1_epi64x(long(count)), _mm256_setr_epi64x(0, 1, 2, 3));
    }
  }
#endif
};

/// One step of the sums of a tile: of one term, by default.
template <class Isa, class T>
struct Step {
  using Vec = typename Simd<Isa, T>::Vec;
  /// An element of a packed block in every lane.
  static Vec broadcast(T x) { return Simd<Isa, T>::broadcast(x); }
  /// c plus the products of such elements.
  static Vec add_products(Vec a, Vec b, Vec c) { return Simd<Isa, T>::multiply_add(a, b, c); }
};

}  // namespace xgrad::detail
