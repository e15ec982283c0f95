// Vectors of an instruction set, by GCC's vector extensions, and how they are read from A and B.
// Not installed.
//
// Each element of C is summed in steps of one term or, if the instruction multiplies pairs, of two
// terms. A packed block is of A or of B. Each of its elements holds what this matrix gives to one
// step: one number, or a pair of bfloat16 numbers side by side.
//
// The versions of a function for different instruction sets are compiled with different flags, so
// the linker must not merge them. Therefore, the name of every function here and in pack.hpp and
// blocks.hpp contains the instruction set, unless the function is always inlined.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>

namespace xgrad::detail {

/// Vector registers: 32 with AVX-512 and on ARM64, else 16.
template <class Isa>
inline constexpr int kRegisters = Isa::kBytes == 64 ? 32 : 16;
#if defined(__aarch64__)
template <>
inline constexpr int kRegisters<Baseline> = 32;
#endif

/// Vectors of T that fill one register of Isa, a class of processors.
template <class Isa, class T>
struct Simd {
  static constexpr std::size_t kLanes = Isa::kBytes / sizeof(T);
  static constexpr bool kFloat = std::is_same_v<T, float>;
  typedef T Vec __attribute__((vector_size(Isa::kBytes)));
  typedef T Unaligned __attribute__((vector_size(Isa::kBytes), aligned(alignof(T)), may_alias));

  static Vec load(const T* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(T* to, Vec v) { *reinterpret_cast<Unaligned*>(to) = v; }
  static Vec broadcast(T x) { return x - Vec{}; }  // the number x in every lane

  /// a b + c, rounded once by classes that have an instruction for it, else twice.
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
#elif defined(__aarch64__)
    if constexpr (kFloat) {
      return vfmaq_f32(c, a, b);
    } else {
      return vfmaq_f64(c, a, b);
    }
#endif
    return a * b + c;
  }

  /// Loads the first `count` < kLanes elements, then zeros. Reads no memory beyond these elements.
  static Vec load_part(const T* from, std::size_t count) {
#if defined(__x86_64__)
    if constexpr (Isa::kBytes == 64) {
      return Vec(_mm512_maskz_loadu_ps(mask(count), from));
    } else if constexpr (std::is_same_v<Isa, Avx2>) {
      return Vec(_mm256_maskload_ps(reinterpret_cast<const float*>(from), mask(count)));
    }
#endif
    Vec v = {};
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) v[i] = from[i];
    }
    return v;
  }

  /// Stores the first `count` < kLanes elements. Touches no memory beyond these elements.
  static void store_part(T* to, Vec v, std::size_t count) {
#if defined(__x86_64__)
    if constexpr (Isa::kBytes == 64) {
      return _mm512_mask_storeu_ps(to, mask(count), __m512(v));
    } else if constexpr (std::is_same_v<Isa, Avx2>) {
      return _mm256_maskstore_ps(reinterpret_cast<float*>(to), mask(count), __m256(v));
    }
#endif
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i < count) to[i] = v[i];
    }
  }

#if defined(__x86_64__)
 private:
  // A mask that selects the first `count` elements; it has an entry for every 32 bits.
  static auto mask(std::size_t count) {
    const std::size_t words = count * (sizeof(T) / 4);
    if constexpr (Isa::kBytes == 64) {
      return __mmask16((1u << words) - 1);
    } else {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(words)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
  }
#endif
};

/// One step of a tile (a part of C in registers). By default it adds one term to each element.
template <class Isa, class T>
struct Step {
  using Vec = typename Simd<Isa, T>::Vec;
  /// An element of a packed block in every lane.
  static Vec broadcast(T x) { return Simd<Isa, T>::broadcast(x); }
  /// c plus a times b in each lane; for pairs, c plus both products. `a` comes from broadcast().
  static Vec add_products(Vec a, Vec b, Vec c) { return Simd<Isa, T>::multiply_add(a, b, c); }
};

/// The number of steps that a tile takes at a time. If kTileSteps is above 1, A is packed row by
/// row, and packing appends steps of zeros to each row until it has a multiple of kTileSteps steps.
template <class Isa>
inline constexpr std::size_t kTileSteps = 1;

/// A place in a matrix such as B, in which row p has the factors of term p. So the two numbers of a
/// pair are in two successive rows. `terms` is the number of rows from this place on.
template <class In>
struct RowCursor {
  const In* first;
  std::size_t stride, terms;
  // Always inlined: its name lacks the instruction set, so the linker could merge its versions.
  [[gnu::always_inline]] RowCursor operator+(std::size_t columns) const {
    return {first + columns, stride, terms};
  }
};

/// Reads numbers of In and converts them to elements T of a packed block. load(RowCursor) reads one
/// step of kLanes columns; load(pointer) reads kLanes steps of one row. load_part() reads fewer
/// columns or terms, and fills the rest with zeros.
template <class Isa, class T, class In>
struct Source {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
  static constexpr std::size_t kTerms = 1;  // terms of a sum in a step

  static Vec load(const RowCursor<In>& from) { return S::load(from.first); }
  static Vec load_part(const RowCursor<In>& from, std::size_t columns) {
    return S::load_part(from.first, columns);
  }
  static T one(const RowCursor<In>& from) { return *from.first; }
  static Vec load(const In* from) { return S::load(from); }
  static Vec load_part(const In* from, std::size_t terms) { return S::load_part(from, terms); }
  static T one(const In* from, std::size_t) { return *from; }
};

/// The bits of numbers of Bf16, each in the lower half of a word.
template <class Isa>
using Words = typename Simd<Isa, std::uint32_t>::Vec;
template <class Isa>
Words<Isa> words_of(const Bf16* from) {
  typedef std::uint16_t Halves
      __attribute__((vector_size(Isa::kBytes / 2), aligned(alignof(Bf16)), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words<Isa>);
}

/// A Bf16 is the upper half of a float. This Source reads the bits itself, because Bf16's functions
/// are not templates on the instruction set: the linker would merge versions of them.
template <class Isa>
struct Source<Isa, float, Bf16> {
  static constexpr std::size_t kTerms = 1;
  using Vec = typename Simd<Isa, float>::Vec;

  static Vec load(const Bf16* from) { return Vec(words_of<Isa>(from) << 16); }
  static Vec load_part(const Bf16* from, std::size_t count) {
    Words<Isa> part = {};
    for (std::size_t i = 0; i < count; ++i) part[i] = std::uint32_t(from[i].bits) << 16;
    return Vec(part);
  }
  static float one(const Bf16* from, std::size_t) {
    return __builtin_bit_cast(float, std::uint32_t(from->bits) << 16);
  }
  static Vec load(const RowCursor<Bf16>& from) { return load(from.first); }
  static Vec load_part(const RowCursor<Bf16>& from, std::size_t columns) {
    return load_part(from.first, columns);
  }
  static float one(const RowCursor<Bf16>& from) { return one(from.first, 1); }
};

/// The Source of an instruction that multiplies pairs. A float holds the bits of the factors of two
/// terms, and is no number itself. The first factor is in the lower half or, with `swapped`, in the
/// upper half. With an odd number of terms, the last pair ends with 0.
template <class Isa, bool swapped>
struct Pairs {
  static constexpr std::size_t kTerms = 2;
  using Vec = typename Simd<Isa, float>::Vec;

  static float pair(std::uint32_t first, std::uint32_t second) {
    return __builtin_bit_cast(float, swapped ? first << 16 | second : first | second << 16);
  }

  static Vec load(const RowCursor<Bf16>& from) {
    const Words<Isa> first = words_of<Isa>(from.first);
    const Words<Isa> second =
        from.terms > 1 ? words_of<Isa>(from.first + from.stride) : first ^ first;
    return Vec(swapped ? first << 16 | second : first | second << 16);
  }
  static Vec load_part(const RowCursor<Bf16>& from, std::size_t columns) {
    Vec part = {};
    for (std::size_t i = 0; i < columns; ++i) part[i] = one(from + i);
    return part;
  }
  static float one(const RowCursor<Bf16>& from) {
    return pair(from.first->bits, from.terms > 1 ? from.first[from.stride].bits : 0);
  }

  static Vec load(const Bf16* from) {
    Words<Isa> pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    return Vec(swapped ? pairs << 16 | pairs >> 16 : pairs);
  }
  static Vec load_part(const Bf16* from, std::size_t terms) {
    Vec part = {};
    for (std::size_t i = 0; i < terms; i += 2) part[i / 2] = one(from + i, terms - i);
    return part;
  }
  static float one(const Bf16* from, std::size_t terms) {
    return pair(from[0].bits, terms > 1 ? from[1].bits : 0);
  }
};

}  // namespace xgrad::detail
