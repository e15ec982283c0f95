// Copies blocks of A and B into the order in which multiply_tile reads them. Not installed.
#pragma once

#include <xgrad/autograd/kernels/packed_gemm/simd.hpp>
#include <xgrad/autograd/kernels/shuffle.hpp>

namespace xgrad::detail {

// How many rows of A are packed at a time: a multiple of TileSizes::rows() in every class.
constexpr std::size_t kPackRows = 96;

/// Shuffles of two vectors, each in two instructions. A group is 128 bits.
template <class Isa, class T>
struct Shuffle {
  static constexpr int kLanes = int(Simd<Isa, T>::kLanes);
  static constexpr int kGroup = 16 / sizeof(T);
  using Vec = typename Simd<Isa, T>::Vec;

  /// Interleaves units of `Unit` lanes of a and b within each group. The lower halves of the group
  /// in a and in b give the new group of a; the upper halves give the new group of b.
  template <int Unit>
  [[gnu::always_inline]] static void zip(Vec& a, Vec& b) {
    replace(a, b, [](int lane, bool upper) {
      const int unit = lane % kGroup / Unit;  // even ones come from a, odd ones from b
      const int from =
          lane / kGroup * kGroup + (upper ? kGroup / 2 : 0) + unit / 2 * Unit + lane % Unit;
      return unit % 2 == 0 ? from : kLanes + from;
    });
  }

  /// a becomes the even groups of a, then of b; b becomes the odd groups of a, then of b.
  [[gnu::always_inline]] static void sort_groups(Vec& a, Vec& b) {
    replace(a, b, [](int lane, bool odd) {
      const int group = lane % (kLanes / 2) / kGroup * 2 + (odd ? 1 : 0);
      const int from = group * kGroup + lane % kGroup;
      return lane < kLanes / 2 ? from : kLanes + from;
    });
  }

 private:
  template <class Source>
  [[gnu::always_inline]] static void replace(Vec& a, Vec& b, const Source& source) {
    typedef std::conditional_t<sizeof(T) == 4, int, long> Index;
    typedef Index Lanes __attribute__((vector_size(Isa::kBytes)));
    Lanes first = {}, second = {};
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) {
      first[lane] = source(lane, false);
      second[lane] = source(lane, true);
    }
    const Vec before = a;
    a = shuffle(before, b, first);
    b = shuffle(before, b, second);
  }
};

/// Transposes a square of kLanes vectors in place.
template <class Isa, class T>
[[gnu::always_inline]] inline void transpose_square(typename Simd<Isa, T>::Vec* rows) {
  using S = Shuffle<Isa, T>;
  constexpr int G = S::kGroup, L = S::kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < L; i += G) {  // transposes G x G lanes in each group
    auto* r = rows + i;
    S::template zip<1>(r[0], r[1]);
    if constexpr (G == 4) {
      S::template zip<1>(r[2], r[3]);
      S::template zip<2>(r[0], r[2]);
      S::template zip<2>(r[1], r[3]);
      const auto second = r[1];
      r[1] = r[2];
      r[2] = second;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < G; ++i) {  // then transposes whole groups, if there are 2 or 4
    auto* r = rows + i;
    if constexpr (L / G > 1) S::sort_groups(r[0], r[G]);
    if constexpr (L / G == 4) {
      S::sort_groups(r[2 * G], r[3 * G]);
      S::sort_groups(r[0], r[2 * G]);
      S::sort_groups(r[G], r[3 * G]);
    }
  }
}

/// Copies `terms` rows of B, `columns` elements of each, into rows of `width` vectors, padded with
/// zeros. Each step takes kTerms rows; the last step may have fewer.
template <class Isa, class T, class In>
void pack_rows(const In* b, std::size_t stride, std::size_t terms, std::size_t columns,
               std::size_t width, T* out) {
  using S = Simd<Isa, T>;
  using From = Source<Isa, T, In>;
  const std::size_t full = columns / S::kLanes, rest = columns % S::kLanes;
  for (std::size_t p = 0; p < terms; p += From::kTerms, b += From::kTerms * stride) {
    const RowCursor<In> rows{b, stride, terms - p};
    if constexpr (From::kTerms > 1) {  // prefetches, as pack_tiles() does; no gain if kTerms is 1
      for (std::size_t t = 0; t < From::kTerms; ++t) {
        for (std::size_t j = 0; j < columns; j += 64 / sizeof(In))
          __builtin_prefetch(b + (16 + t) * stride + j);
      }
    }
    for (std::size_t v = 0; v < full; ++v)
      S::store(out + v * S::kLanes, From::load(rows + v * S::kLanes));
    if (rest != 0) S::store(out + full * S::kLanes, From::load_part(rows + full * S::kLanes, rest));
    out += width * S::kLanes;
  }
  for (std::size_t step = (terms + From::kTerms - 1) / From::kTerms; step % kTileSteps<Isa> != 0;
       ++step) {
    for (std::size_t v = 0; v < width; ++v, out += S::kLanes) S::store(out, typename S::Vec{});
  }
}

/// pack_rows() for a transposed matrix: the rows of b are the columns to copy.
template <class Isa, class T, class In>
void pack_transposed(const In* b, std::size_t stride, std::size_t terms, std::size_t columns,
                     std::size_t width, T* out) {
  using S = Simd<Isa, T>;
  using From = Source<Isa, T, In>;
  constexpr std::size_t L = S::kLanes, K = From::kTerms;
  const std::size_t step = width * L;
  for (std::size_t v = 0; v < width; ++v, b += L * stride, out += L) {
    const std::size_t here = columns - v * L < L ? columns - v * L : L;
    for (std::size_t p = 0; p < terms; p += L * K) {
      const std::size_t count = terms - p < L * K ? terms - p : L * K;
      typename S::Vec rows[L] = {};
      if (here == L && count == L * K) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < L; ++i) rows[i] = From::load(b + i * stride + p);
      } else {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < L; ++i) {
          if (i < here)
            rows[i] = count == L * K ? From::load(b + i * stride + p)
                                     : From::load_part(b + i * stride + p, count);
        }
      }
      transpose_square<Isa, T>(rows);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < L; ++i) {
        if (kTileSteps<Isa> == L || i * K < count) S::store(out + (p / K + i) * step, rows[i]);
      }
    }
  }
}

/// Copies step p of `rows` rows into tiles of R rows and k steps. The last tile has the rest of the
/// rows.
template <class Isa, int R, class T>
[[gnu::always_inline]] inline void scatter_to_tiles(const T* step, std::size_t rows, std::size_t k,
                                                    std::size_t p, T* out) {
  const std::size_t full = rows / R, rest = rows % R;
  for (std::size_t t = 0; t < full; ++t)
    __builtin_memcpy(out + t * R * k + p * R, step + t * R, R * sizeof(T));
  for (std::size_t r = 0; r < rest; ++r) out[full * R * k + p * rest + r] = step[full * R + r];
}

/// Copies `rows` rows of a transposed A as tiles of R rows. Each tile holds k R elements, where k
/// is the number of steps in `terms` terms.
template <class Isa, int R, class T, class In>
void pack_tiles(const In* a, std::size_t stride, std::size_t terms, std::size_t rows, T* out) {
  using S = Simd<Isa, T>;
  using From = Source<Isa, T, In>;
  constexpr std::size_t K = From::kTerms;
  const std::size_t k = (terms + K - 1) / K;
  for (std::size_t p = 0; p < k; ++p, a += K * stride) {
    // The hardware does not prefetch across pages, and the rows often lie on different pages.
    for (std::size_t r = 0; r < rows; r += 64 / sizeof(In)) __builtin_prefetch(a + 16 * stride + r);
    if constexpr (std::is_same_v<In, T>) {
      scatter_to_tiles<Isa, R>(a, rows, k, p, out);
    } else {
      T step[kPackRows];
      const RowCursor<In> from{a, stride, terms - p * K};
      std::size_t r = 0;
      for (; r + S::kLanes <= rows; r += S::kLanes) S::store(step + r, From::load(from + r));
      for (; r < rows; ++r) step[r] = From::one(from + r);
      scatter_to_tiles<Isa, R>(step, rows, k, p, out);
    }
  }
}

/// Copies `rows` rows of a transposed A, one after the other.
template <class Isa, class T, class In>
void pack_columns(const In* a, std::size_t stride, std::size_t terms, std::size_t rows, T* out) {
  using S = Simd<Isa, T>;
  using From = Source<Isa, T, In>;
  constexpr std::size_t L = S::kLanes, K = From::kTerms;
  static_assert(kTileSteps<Isa> == L);
  const std::size_t k = (terms + L * K - 1) / (L * K) * L;
  for (std::size_t r = 0; r < rows; r += L) {
    const std::size_t here = rows - r < L ? rows - r : L;
    for (std::size_t p = 0; p < k; p += L) {
      typename S::Vec steps[L] = {};
#pragma GCC unroll 16
      for (std::size_t i = 0; i < L; ++i) {
        const std::size_t term = (p + i) * K;
        if (term >= terms) continue;
        const RowCursor<In> from{a + term * stride + r, stride, terms - term};
        steps[i] = here == L ? From::load(from) : From::load_part(from, here);
      }
      transpose_square<Isa, T>(steps);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < L; ++i) {
        if (i < here) S::store(out + (r + i) * k + p, steps[i]);
      }
    }
  }
}

/// Copies `rows` rows of an A that is not transposed, one after the other.
template <class Isa, class T, class In>
void pack_lines(const In* a, std::size_t stride, std::size_t terms, std::size_t rows, T* out) {
  using S = Simd<Isa, T>;
  using From = Source<Isa, T, In>;
  constexpr std::size_t K = From::kTerms;
  for (std::size_t r = 0; r < rows; ++r, a += stride) {
    std::size_t p = 0;
    for (; p + S::kLanes * K <= terms; p += S::kLanes * K, out += S::kLanes)
      S::store(out, From::load(a + p));
    if constexpr (kTileSteps<Isa> != 1) {
      static_assert(kTileSteps<Isa> == S::kLanes);
      if (p < terms) {
        S::store(out, From::load_part(a + p, terms - p));
        out += S::kLanes;
      }
    } else {
      for (; p < terms; p += K) *out++ = From::one(a + p, terms - p);
    }
  }
}

}  // namespace xgrad::detail
