// The blocks of a packed product and their order. Not installed.
#pragma once

#include <cstdint>
#include <utility>

#include <xgrad/autograd/kernels/packed_gemm/pack.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/kernels/packed_gemm/tile.hpp>

namespace xgrad::detail {

// Terms of the sums in a block, or, on AMX, pairs of terms. A block of B takes 576 KiB, so that it
// fits an L2 cache of 1 MiB beside the tiles of A and C.
constexpr std::size_t kBlockDepth = 384;
template <class T>
constexpr std::size_t kBlockColumns = 384 * sizeof(float) / sizeof(T);

/// Tile sizes whose sums fill 16 or 32 registers.
template <class Isa>
struct TileSizes {
  static constexpr int kVectors = 2;
  static constexpr int rows(int vectors) { return vectors == 2 ? 6 : 12; }
};
template <class Isa>
requires(kRegisters<Isa> == 32) struct TileSizes<Isa> {
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

/// Whether tiles may read the steps of A in place.
template <class Isa>
inline constexpr bool kStepsInPlace = true;

/// Computes the tiles of a block.
template <class Isa, class T>
struct TileKernels {
  /// multiply_tile for a tile of `rows` rows and V vectors.
  template <int V>
  void multiply(std::size_t rows, const TileJob<T>& job) {
    kTiles<Isa, T, V>.of_rows[rows - 1](job);
  }
};

/// Calls visit(std::integral_constant<int, V>()) with V = vectors. Requires: 1 <= vectors <= Most.
template <int Most, class Visit>
void with_vectors(std::size_t vectors, const Visit& visit) {
  if constexpr (Most > 1) {
    if (vectors < Most) return with_vectors<Most - 1>(vectors, visit);
  }
  visit(std::integral_constant<int, Most>());
}

/// A block of B: columns [j, j + n) of the product, steps [p, p + k) of the sums.
struct BlockOfB {
  std::size_t j, n, p, k;
};

/// The product of two matrices of In, copied into blocks of T where the tiles do not read them in
/// place.
template <class Isa, class T, class In>
class BlockedProduct {
 public:
  BlockedProduct(const Product<T, In>& product, T* scratch)
      : x_(product),
        block_of_b_(scratch),
        packed_a_(scratch + kBlockDepth * kBlockColumns<T>),
        b_in_place_(kInPlace && x_.blocks_of_b == nullptr && x_.b.transpose == Transpose::no &&
                    x_.n % L == 0 && x_.m <= kInPlaceRows),
        a_transposed_(x_.a.transpose == Transpose::yes),
        pack_a_(!a_in_place()),
        steps_(divide_up(x_.k, K * kTileSteps<Isa>) * kTileSteps<Isa>) {}

  void run() const {
    if (x_.m == 0) {
      for_blocks([&](const BlockOfB& block) { pack_block(block); });
    } else {
      for_blocks([&](const BlockOfB& block) { multiply_block(block); });
    }
  }

 private:
  static constexpr std::size_t L = Simd<Isa, T>::kLanes;
  static constexpr std::size_t K = Source<Isa, T, In>::kTerms;
  static constexpr bool kInPlace = std::is_same_v<In, T>;  // whether tiles can read B in place
  static constexpr std::size_t kInPlaceRows = 96;  // up to here, packing B costs more than it gains

  // Whether the K elements of each step lie in A as they do in a packed block.
  static constexpr bool kSteps = sizeof(In) * K == sizeof(T) && kStepsInPlace<Isa>;
  // Whether a packed A has the steps of a row side by side also where A is transposed.
  static constexpr bool kRowsOfSteps = kTileSteps<Isa> > 1;

  bool a_in_place() const {
    if (a_transposed_) return kInPlace && x_.n <= 64 && x_.k <= 128;
    return kSteps && x_.k % (K * kTileSteps<Isa>) == 0 && x_.a.stride % K == 0 &&
           reinterpret_cast<std::uintptr_t>(x_.a.data) % sizeof(T) == 0;
  }

  template <class Body>
  void for_blocks(const Body& body) const {
    const std::size_t columns = part_of(x_.n, kBlockColumns<T>, 64);
    // Parts of as many terms, an even number, on every processor but those of AMX.
    constexpr bool amx = kTileSteps < Isa >> 1;
    const std::size_t depth = amx ? part_of(steps_, kBlockDepth, kTileSteps<Isa>)
                                  : part_of(steps_, kBlockDepth / K, 2 / K);
    for (std::size_t j = 0; j < x_.n; j += columns) {
      std::size_t p = 0;
      do {  // runs once for k = 0, which leaves beta C
        body(BlockOfB{j, min(columns, x_.n - j), p, min(depth, steps_ - p)});
        p += depth;
      } while (p < steps_);
    }
  }

  static constexpr std::size_t min(std::size_t a, std::size_t b) { return a < b ? a : b; }

  /// The size of equal parts of n, each at most `most`, rounded up to a multiple of `unit`.
  static constexpr std::size_t part_of(std::size_t n, std::size_t most, std::size_t unit) {
    if (n <= most) return n;
    return divide_up(divide_up(n, divide_up(n, most)), unit) * unit;
  }

  /// Cuts a block's columns into panels of equal width, at most that of a tile, and calls
  /// body(first vector, number of vectors) for each.
  template <class Body>
  static void for_panels(const BlockOfB& block, const Body& body) {
    const std::size_t vectors = divide_up(block.n, L);
    const std::size_t width = part_of(vectors, TileSizes<Isa>::kVectors, 1);
    for (std::size_t v = 0; v < vectors; v += width) body(v, min(width, vectors - v));
  }

  const In* source_of_b(const BlockOfB& block, std::size_t vector) const {
    const std::size_t j = block.j + vector * L, p = block.p * K;
    return x_.b.transpose == Transpose::yes ? x_.b.data + j * x_.b.stride + p
                                            : x_.b.data + p * x_.b.stride + j;
  }

  std::size_t terms(const BlockOfB& block) const { return min(block.k * K, x_.k - block.p * K); }

  T* packed_b(const BlockOfB& block) const {
    if (x_.blocks_of_b == nullptr) return block_of_b_;
    return x_.blocks_of_b + block.j * steps_ + block.p * (divide_up(block.n, L) * L);
  }

  void pack_block(const BlockOfB& block) const {
    T* const to = packed_b(block);
    for_panels(block, [&](std::size_t v, std::size_t vectors) {
      const std::size_t columns = min(block.n - v * L, vectors * L);
      const auto pack =
          x_.b.transpose == Transpose::yes ? pack_transposed<Isa, T, In> : pack_rows<Isa, T, In>;
      pack(source_of_b(block, v), x_.b.stride, terms(block), columns, vectors,
           to + v * L * block.k);
    });
  }

  void multiply_block(const BlockOfB& block) const {
    if (!b_in_place_ && x_.blocks_of_b == nullptr) pack_block(block);
    const std::size_t widest = part_of(divide_up(block.n, L), TileSizes<Isa>::kVectors, 1);
    with_vectors<TileSizes<Isa>::kVectors>(widest, [&](auto width) {
      constexpr std::size_t kRows = TileSizes<Isa>::rows(width);
      const std::size_t group = pack_a_ ? kPackRows : x_.m;
      TileKernels<Isa, T> tiles;
      for (std::size_t i = 0; i < x_.m; i += group) {
        const std::size_t rows = min(group, x_.m - i);
        if (pack_a_) pack_rows_of_a<kRows>(block, i, rows);
        for (std::size_t r = 0; r < rows; r += kRows) {
          multiply_row_of_tiles<width>(tiles, block, i + r, min(kRows, rows - r),
                                       packed_a_ + r * block.k);
        }
      }
    });
  }

  /// Packs rows [i, i + rows) of A, for tiles of R rows.
  template <std::size_t R>
  void pack_rows_of_a(const BlockOfB& block, std::size_t i, std::size_t rows) const {
    const std::size_t stride = x_.a.stride, p = block.p * K;
    if (!a_transposed_) {
      pack_lines<Isa>(x_.a.data + i * stride + p, stride, terms(block), rows, packed_a_);
    } else if constexpr (kRowsOfSteps) {
      pack_columns<Isa>(x_.a.data + p * stride + i, stride, terms(block), rows, packed_a_);
    } else {
      pack_tiles<Isa, R>(x_.a.data + p * stride + i, stride, terms(block), rows, packed_a_);
    }
  }

  /// Computes rows [i, i + rows) of C in all panels of the block, one tile per panel.
  template <int Width>
  void multiply_row_of_tiles(TileKernels<Isa, T>& tiles, const BlockOfB& block, std::size_t i,
                             std::size_t rows, const T* packed) const {
    const bool side_by_side = kRowsOfSteps || !a_transposed_;  // the steps of a row
    TileJob<T> job;
    job.k = block.k;
    job.a_row = !side_by_side ? 1 : pack_a_ ? block.k : x_.a.stride / K;
    job.a_step = side_by_side ? 1 : pack_a_ ? rows : x_.a.stride;
    job.a = packed;
    if constexpr (kSteps) {
      using Steps = const typename TileJob<T>::Element*;
      if (!pack_a_)
        job.a = reinterpret_cast<Steps>(x_.a.data) + i * job.a_row + block.p * job.a_step;
    }
    job.ldc = x_.ldc;
    job.alpha = x_.alpha;
    job.beta = block.p == 0 ? x_.beta : T(1);
    const T* blocks = packed_b(block);
    for_panels(block, [&](std::size_t v, std::size_t vectors) {
      job.b = blocks + v * L * block.k;
      job.b_step = vectors * L;
      if constexpr (kInPlace) {
        if (b_in_place_) {
          job.b = source_of_b(block, v);
          job.b_step = x_.b.stride;
        }
      }
      job.c = x_.c + i * x_.ldc + block.j + v * L;
      job.tail = (v + vectors) * L > block.n ? block.n % L : 0;
      with_vectors<Width>(vectors, [&](auto width) { tiles.template multiply<width>(rows, job); });
    });
  }

  const Product<T, In>& x_;
  T* block_of_b_;
  T* packed_a_;
  bool b_in_place_, a_transposed_, pack_a_;
  std::size_t steps_;  // of the sums, with added zeros
};

template <class Isa, class T, class In>
void multiply(const Product<T, In>& product, T* scratch) {
  static_assert((kBlockColumns<T> + kPackRows) * kBlockDepth * sizeof(T) <= kPackedGemmScratch);
  BlockedProduct<Isa, T, In>(product, scratch).run();
}

}  // namespace xgrad::detail
