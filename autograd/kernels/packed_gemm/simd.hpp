// Vectors of an instruction set, by GCC's vector extensions. Not installed.
//
// Every function here and in pack.hpp, tile.hpp and blocks.hpp is a template on the instruction
// set. Compiled with the flags of different sets, it therefore gets different names, and the linker
// cannot merge the versions.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>
#include <type_traits>

namespace xgrad::detail {

/// SSE2, which every x86-64 processor has; NEON, which every ARM64 processor has; on other
/// architectures, their 16-byte vectors.
struct Baseline {
  static constexpr std::size_t kBytes = 16;
};

struct Avx {
  static constexpr std::size_t kBytes = 32;
};

struct Avx2 {
  static constexpr std::size_t kBytes = 32;
};

struct Avx512 {
  static constexpr std::size_t kBytes = 64;
};

/// Vector registers: 32 with AVX-512 and on ARM64, else 16.
template <class Isa>
inline constexpr int kRegisters = Isa::kBytes == 64 ? 32 : 16;
#if defined(__aarch64__)
template <>
inline constexpr int kRegisters<Baseline> = 32;
#endif

/// a b + c, rounded twice. Classes with FMA name the instruction, which rounds once.
template <class Isa, class T>
struct MultiplyAdd {
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  static Vec of(Vec a, Vec b, Vec c) { return a * b + c; }
};

#if defined(__x86_64__)
template <class T>
struct MultiplyAdd<Avx2, T> {
  typedef T Vec __attribute__((vector_size(Avx2::kBytes)));
  static Vec of(Vec a, Vec b, Vec c) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm256_fmadd_ps(a, b, c);
    } else {
      return _mm256_fmadd_pd(a, b, c);
    }
  }
};

/// Avx512, and the sets that extend it.
template <class Isa, class T>
requires(Isa::kBytes == 64) struct MultiplyAdd<Isa, T> {
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  static Vec of(Vec a, Vec b, Vec c) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_fmadd_ps(a, b, c);
    } else {
      return _mm512_fmadd_pd(a, b, c);
    }
  }
};
#elif defined(__aarch64__)
template <class T>
struct MultiplyAdd<Baseline, T> {
  typedef T Vec __attribute__((vector_size(Baseline::kBytes)));
  static Vec of(Vec a, Vec b, Vec c) {
    if constexpr (std::is_same_v<T, float>) {
      return vfmaq_f32(c, a, b);
    } else {
      return vfmaq_f64(c, a, b);
    }
  }
};
#endif

/// Loads and stores the first `count` < kLanes elements of a vector. load() sets the others to 0;
/// neither function touches memory beyond them.
template <class Isa, class T>
struct FirstElements {
  static constexpr std::size_t kLanes = Isa::kBytes / sizeof(T);
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));

  static Vec load(const T* from, std::size_t count) {
    Vec v = {};
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) v[i] = from[i];
    }
    return v;
  }

  static void store(T* to, Vec v, std::size_t count) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) to[i] = v[i];
    }
  }
};

#if defined(__x86_64__)
template <class T>
struct FirstElements<Avx2, T> {
  typedef T Vec __attribute__((vector_size(Avx2::kBytes)));

  static Vec load(const T* from, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm256_maskload_ps(from, mask(count));
    } else {
      return _mm256_maskload_pd(from, mask(count));
    }
  }

  static void store(T* to, Vec v, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      _mm256_maskstore_ps(to, mask(count), v);
    } else {
      _mm256_maskstore_pd(to, mask(count), v);
    }
  }

 private:
  // All ones in the first `count` elements.
  static __m256i mask(std::size_t count) {
    if constexpr (sizeof(T) == 4) {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    } else {
      return _mm256_cmpgt_epi64(_mm256_set1_epi64x(long(count)), _mm256_setr_epi64x(0, 1, 2, 3));
    }
  }
};

template <class Isa, class T>
requires(Isa::kBytes == 64) struct FirstElements<Isa, T> {
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));

  static Vec load(const T* from, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from);
    } else {
      return _mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
    }
  }

  static void store(T* to, Vec v, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), v);
    } else {
      _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), v);
    }
  }
};
#endif

/// One step of the sums of a tile: of one term, by default.
template <class Isa, class T>
struct Step {
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  static Vec broadcast(T x) { return x - Vec{}; }
  static Vec add_products(Vec a, Vec b, Vec c) { return MultiplyAdd<Isa, T>::of(a, b, c); }
};

template <class Isa, class T>
struct Simd {
  static constexpr std::size_t kLanes = Isa::kBytes / sizeof(T);
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  typedef T Unaligned __attribute__((vector_size(Isa::kBytes), aligned(alignof(T)), may_alias));

  static Vec load(const T* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(T* to, Vec v) { *reinterpret_cast<Unaligned*>(to) = v; }

  static Vec broadcast(T x) { return x - Vec{}; }  // the number x in every lane
  static Vec multiply_add(Vec a, Vec b, Vec c) { return MultiplyAdd<Isa, T>::of(a, b, c); }

  /// An element of a packed block in every lane, and c plus the products of such elements.
  static Vec broadcast_step(T x) { return Step<Isa, T>::broadcast(x); }
  static Vec add_products(Vec a, Vec b, Vec c) { return Step<Isa, T>::add_products(a, b, c); }

  static Vec load_part(const T* from, std::size_t count) {
    return FirstElements<Isa, T>::load(from, count);
  }
  static void store_part(T* to, Vec v, std::size_t count) {
    FirstElements<Isa, T>::store(to, v, count);
  }
};

}  // namespace xgrad::detail
