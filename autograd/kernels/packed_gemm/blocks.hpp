// The blocks of a packed product and their order. Not installed.
#pragma once

#include <utility>

#include <xgrad/autograd/kernels/packed_gemm/pack.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/kernels/packed_gemm/tile.hpp>

namespace xgrad::detail {

// A block of B takes 576 KiB, so that it fits an L2 cache of 1 MiB beside the tiles of A and C.
constexpr std::size_t kBlockDepth = 384;
template <class T>
constexpr std::size_t kBlockColumns = 384 * sizeof(float) / sizeof(T);

// Rows of a transposed A packed at a time: whole cache lines, and a multiple of every tile height.
constexpr std::size_t kPackRows = 96;

/// Tile sizes whose sums fill the registers: 16 registers, or 32 with AVX-512.
template <class Isa>
struct TileSizes {
  static constexpr int kVectors = 2;
  static constexpr int rows(int vectors) { return vectors == 2 ? 6 : 12; }
};
template <>
struct TileSizes<Avx512> {
  static constexpr int kVectors = 4;
  static constexpr int rows(int vectors) {
    return vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 16;
  }
};

/// multiply_tile for tiles of 1 ... rows(V) rows and V vectors.
template <class Isa, class T, int V>
struct TilesOfWidth {
  using Tile = void (*)(const TileJob<T>&);
  Tile of_rows[TileSizes<Isa>::rows(V)];

  constexpr TilesOfWidth() : TilesOfWidth(std::make_index_sequence<TileSizes<Isa>::rows(V)>()) {}

 private:
  template <std::size_t... R>
  constexpr explicit TilesOfWidth(std::index_sequence<R...>)
      : of_rows{multiply_tile<Isa, T, int(R) + 1, V>...} {}
};

template <class Isa, class T, int V>
inline constexpr TilesOfWidth<Isa, T, V> kTiles;

/// Calls visit(std::integral_constant<int, V>()) with V = vectors. Requires: 1 <= vectors <= Most.
template <int Most, class Visit>
void with_vectors(std::size_t vectors, const Visit& visit) {
  if constexpr (Most > 1) {
    if (vectors < Most) return with_vectors<Most - 1>(vectors, visit);
  }
  visit(std::integral_constant<int, Most>());
}

/// A block of B: columns [j, j + n) of the product, terms [p, p + k) of the sums.
struct Block {
  std::size_t j, n, p, k;
};

template <class Isa, class T>
class BlockedProduct {
 public:
  BlockedProduct(const Product<T>& product, T* scratch)
      : x_(product),
        packed_b_(scratch),
        packed_a_(scratch + kBlockDepth * kBlockColumns<T>),
        b_in_place_(x_.b.transpose == Transpose::no && x_.n % L == 0 && x_.m <= kInPlaceRows),
        a_transposed_(x_.a.transpose == Transpose::yes),
        pack_a_(a_transposed_ && (x_.n > 64 || x_.k > 128)) {}

  void run() const {
    const std::size_t columns = part_of(x_.n, kBlockColumns<T>, 64);
    const std::size_t depth = part_of(x_.k, kBlockDepth, 1);
    for (std::size_t j = 0; j < x_.n; j += columns) {
      std::size_t p = 0;
      do {  // runs once for k = 0, which leaves beta C
        multiply_block({j, least(columns, x_.n - j), p, least(depth, x_.k - p)});
        p += depth;
      } while (p < x_.k);
    }
  }

 private:
  static constexpr std::size_t L = Simd<Isa, T>::kLanes;
  static constexpr std::size_t kInPlaceRows = 96;  // up to here, packing B costs more than it gains

  static constexpr std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }

  static constexpr std::size_t divide_up(std::size_t n, std::size_t by) {
    return unsigned(n + by - 1) / unsigned(by);  // 32-bit division is faster, and the sizes fit
  }

  /// The size of equal parts of n, each at most `most`, rounded up to a multiple of `unit`.
  static constexpr std::size_t part_of(std::size_t n, std::size_t most, std::size_t unit) {
    if (n <= most) return n;
    return divide_up(divide_up(n, divide_up(n, most)), unit) * unit;
  }

  /// Cuts a block's columns into panels of equal width, at most that of a tile, and calls
  /// body(first vector, number of vectors) for each.
  template <class Body>
  static void for_panels(const Block& block, const Body& body) {
    const std::size_t vectors = divide_up(block.n, L);
    const std::size_t width = part_of(vectors, TileSizes<Isa>::kVectors, 1);
    for (std::size_t v = 0; v < vectors; v += width) body(v, least(width, vectors - v));
  }

  const T* source_of_b(const Block& block, std::size_t vector) const {
    const std::size_t j = block.j + vector * L;
    return x_.b.transpose == Transpose::yes ? x_.b.data + j * x_.b.stride + block.p
                                            : x_.b.data + block.p * x_.b.stride + j;
  }

  void pack_block(const Block& block) const {
    for_panels(block, [&](std::size_t v, std::size_t vectors) {
      const std::size_t columns = least(block.n - v * L, vectors * L);
      const auto pack =
          x_.b.transpose == Transpose::yes ? pack_transposed<Isa, T> : pack_rows<Isa, T>;
      pack(source_of_b(block, v), x_.b.stride, block.k, columns, vectors,
           packed_b_ + v * L * block.k);
    });
  }

  void multiply_block(const Block& block) const {
    if (!b_in_place_) pack_block(block);
    const std::size_t widest = part_of(divide_up(block.n, L), TileSizes<Isa>::kVectors, 1);
    with_vectors<TileSizes<Isa>::kVectors>(widest, [&](auto width) {
      constexpr std::size_t kRows = TileSizes<Isa>::rows(width);
      const std::size_t group = pack_a_ ? kPackRows : x_.m;
      for (std::size_t i = 0; i < x_.m; i += group) {
        const std::size_t rows = least(group, x_.m - i);
        if (pack_a_) {
          pack_tiles<Isa, kRows>(x_.a.data + block.p * x_.a.stride + i, x_.a.stride, block.k, rows,
                                 packed_a_);
        }
        for (std::size_t r = 0; r < rows; r += kRows) {
          multiply_row_of_tiles<width>(block, i + r, least(kRows, rows - r),
                                       packed_a_ + r * block.k);
        }
      }
    });
  }

  /// Computes rows [i, i + rows) of C in all panels of the block, one tile per panel.
  template <int Width>
  void multiply_row_of_tiles(const Block& block, std::size_t i, std::size_t rows,
                             const T* packed) const {
    TileJob<T> job;
    job.k = block.k;
    job.a_row = a_transposed_ ? 1 : x_.a.stride;
    job.a_step = pack_a_ ? rows : a_transposed_ ? x_.a.stride : 1;
    job.a = pack_a_ ? packed : x_.a.data + i * job.a_row + block.p * job.a_step;
    job.ldc = x_.ldc;
    job.alpha = x_.alpha;
    job.beta = block.p == 0 ? x_.beta : T(1);
    for_panels(block, [&](std::size_t v, std::size_t vectors) {
      job.b = b_in_place_ ? source_of_b(block, v) : packed_b_ + v * L * block.k;
      job.b_step = b_in_place_ ? x_.b.stride : vectors * L;
      job.c = x_.c + i * x_.ldc + block.j + v * L;
      job.tail = (v + vectors) * L > block.n ? block.n % L : 0;
      with_vectors<Width>(vectors,
                          [&](auto width) { kTiles<Isa, T, width>.of_rows[rows - 1](job); });
    });
  }

  const Product<T>& x_;
  T* packed_b_;
  T* packed_a_;
  bool b_in_place_, a_transposed_, pack_a_;
};

template <class Isa, class T>
void multiply(const Product<T>& product, T* scratch) {
  static_assert((kBlockColumns<T> + kPackRows) * kBlockDepth * sizeof(T) <= kPackedGemmScratch);
  BlockedProduct<Isa, T>(product, scratch).run();
}

}  // namespace xgrad::detail
