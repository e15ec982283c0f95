// How a packed block is read from the elements of A and B. Not installed.
//
// An element of a packed block holds the factors of one step of the sums: one number, or, where the
// instruction multiplies pairs, two of bfloat16 side by side.
#pragma once

#include <cstdint>

#include <xgrad/autograd/bfloat16.hpp>
#include <xgrad/autograd/kernels/packed_gemm/simd.hpp>

namespace xgrad::detail {

/// A place in a matrix whose rows are the terms of the sums: the elements of a step lie one below
/// the other. `terms` rows are left from here on.
template <class In>
struct RowCursor {
  const In* first;
  std::size_t stride, terms;
  // Inlined everywhere, as its name does not have the instruction set.
  [[gnu::always_inline]] RowCursor operator+(std::size_t columns) const {
    return {first + columns, stride, terms};
  }
};

/// Reads numbers of In as the T of a packed block: of kLanes columns at once from rows (RowCursor),
/// or of kLanes steps at once from within a row (a pointer). load_part() reads that many columns,
/// or terms, and fills up with zeros.
template <class Isa, class T, class In>
struct Source {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
  static constexpr std::size_t kTerms = 1;  // of a sum in a step

  static Vec load(const RowCursor<In>& from) { return S::load(from.first); }
  static Vec load_part(const RowCursor<In>& from, std::size_t columns) {
    return S::load_part(from.first, columns);
  }
  static T one(const RowCursor<In>& from) { return *from.first; }
  static Vec load(const In* from) { return S::load(from); }
  static Vec load_part(const In* from, std::size_t terms) { return S::load_part(from, terms); }
  static T one(const In* from, std::size_t) { return *from; }
};

/// Vectors of E. GCC 12 ignores the size of a vector if only the size depends on a template.
template <class Isa, class E>
struct VectorsOf {
  typedef E Vec __attribute__((vector_size(Isa::kBytes)));
  typedef E HalfUnaligned
      __attribute__((vector_size(Isa::kBytes / 2), aligned(alignof(E)), may_alias));
};

/// A Bf16 is the upper half of a float. Reads its bits here, because Bf16's own functions, which
/// are no templates on the instruction set, would be merged with those of other sets.
template <class Isa>
struct Source<Isa, float, Bf16> {
  static constexpr std::size_t kTerms = 1;
  using Vec = typename VectorsOf<Isa, float>::Vec;
  using Words = typename VectorsOf<Isa, std::uint32_t>::Vec;
  using Halves = typename VectorsOf<Isa, std::uint16_t>::HalfUnaligned;

  static Words words(const Bf16* from) {
    return __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words);
  }
  static Vec load(const Bf16* from) { return Vec(words(from) << 16); }
  static Vec load_part(const Bf16* from, std::size_t count) {
    Words part = {};
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

/// The Source of an instruction that multiplies pairs: two terms of a sum in a float's bits, which
/// are no number. The first is in the lower half, or, `swapped`, in the upper. The term after the
/// last is 0.
template <class Isa, bool swapped>
struct Pairs {
  static constexpr std::size_t kTerms = 2;
  using Vec = typename VectorsOf<Isa, float>::Vec;
  using Words = typename VectorsOf<Isa, std::uint32_t>::Vec;

  static Words row(const Bf16* from) {
    using Halves = typename VectorsOf<Isa, std::uint16_t>::HalfUnaligned;
    return __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words);
  }
  static float pair(std::uint32_t first, std::uint32_t second) {
    return __builtin_bit_cast(float, swapped ? first << 16 | second : first | second << 16);
  }

  static Vec load(const RowCursor<Bf16>& from) {
    const Words first = row(from.first);
    const Words second = from.terms > 1 ? row(from.first + from.stride) : Words{};
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
    Words pairs;
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
