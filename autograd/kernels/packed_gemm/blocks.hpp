// The blocks of a packed product and their order, and its innermost loop: a tile of C held in
// registers. Not installed.
#pragma once

#include <cstdint>
#include <type_traits>

#include <xgrad/autograd/kernels/packed_gemm/pack.hpp>

namespace xgrad::detail {

/// C = alpha A B + beta C for one tile of C. R and V of multiply_tile() are the size of the tile.
template <class T>
struct TileJob {
  typedef T Element __attribute__((may_alias));  // may be two Bf16, read in place from A
  std::size_t k;
  const Element* a;  // element (row, p) of A at a[row * a_row + p * a_step]
  std::size_t a_row, a_step;
  const T* b;  // row p of B at b + p * b_step
  std::size_t b_step;
  T* c;
  std::size_t ldc;
  std::size_t tail;  // valid columns in the last vector; 0: all
  T alpha, beta;
};

/// Writes the sums of a tile; with beta = 0, C is not read.
template <class Isa, class T, int R, int V>
[[gnu::always_inline]] inline void write_tile(const TileJob<T>& job,
                                              const typename Simd<Isa, T>::Vec (&sum)[R][V]) {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      T* c = job.c + r * job.ldc + v * S::kLanes;
      const bool part = v == V - 1 && job.tail != 0;
      Vec value = job.alpha * sum[r][v];
      if (job.beta != T(0)) {
        const Vec old = part ? S::load_part(c, job.tail) : S::load(c);
        value = S::multiply_add(S::broadcast(job.beta), old, value);
      }
      if (part) {
        S::store_part(c, value, job.tail);
      } else {
        S::store(c, value);
      }
    }
  }
}

/// Computes a tile of R rows by V vectors.
///
/// Every element of C is one chain of multiply-adds in the order of p, so its bits do not depend on
/// R and V. B is prefetched eight rows ahead. C is needed only at the end; the first steps prefetch
/// C line by line, because a burst of prefetches would stall the loop.
template <class Isa, class T, int R, int V>
[[gnu::noinline]] void multiply_tile(const TileJob<T>& job) {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
  constexpr int kGroups = (R + 3) / 4;  // four rows share a pointer, to save registers
  constexpr std::size_t kLine = 64 / sizeof(T);

  Vec sum[R][V] = {};
  const std::size_t a_row = job.a_row, a_step = job.a_step, b_step = job.b_step;
  const T* b = job.b;
  const typename TileJob<T>::Element* a[kGroups];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) a[g] = job.a + 4 * g * a_row;

  const auto step = [&] {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V * S::kLanes; v += kLine) __builtin_prefetch(b + 8 * b_step + v);
    Vec row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = S::load(b + v * S::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec x = Step<Isa, T>::broadcast(a[r / 4][r % 4 * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = Step<Isa, T>::add_products(x, row[v], sum[r][v]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) a[g] += a_step;
    b += b_step;
  };

  std::size_t p = 0;
  const T* c = job.c;
  for (int v = 0; p < R * V && p < job.k; ++p) {
    __builtin_prefetch(c + v * S::kLanes, 1);
    step();
    if (++v == V) {
      v = 0;
      c += job.ldc;
    }
  }
  for (; p < job.k; ++p) step();

  write_tile<Isa, T, R, V>(job, sum);
}

// A block covers at most 384 terms of each sum (on AMX: 384 pairs of terms). A block of B takes at
// most 576 KiB, so that it fits an L2 cache of 1 MiB beside the tiles of A and C.
constexpr std::size_t kBlockDepth = 384;
template <class T>
constexpr std::size_t kBlockColumns = 384 * sizeof(float) / sizeof(T);

/// Tile sizes: the sums of a tile must fit the 16 or 32 registers.
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

/// Calls visit(std::integral_constant<int, N>()) with N = n. Requires: 1 <= n <= Most.
template <int Most, class Visit>
void with_constant(std::size_t n, const Visit& visit) {
  if constexpr (Most > 1) {
    if (n < Most) return with_constant<Most - 1>(n, visit);
  }
  visit(std::integral_constant<int, Most>());
}

/// Whether tiles may read the steps of A in place.
template <class Isa>
inline constexpr bool kStepsInPlace = true;

/// Computes the tiles of a block.
template <class Isa, class T>
struct TileKernels {
  /// multiply_tile for a tile of `rows` rows and V vectors.
  template <int V>
  void multiply(std::size_t rows, const TileJob<T>& job) {
    with_constant<TileSizes<Isa>::rows(V)>(
        rows, [&](auto count) { multiply_tile<Isa, T, count, V>(job); });
  }
};

/// A block of B: columns [j, j + n) of the product, steps [p, p + k) of the sums.
struct BlockOfB {
  std::size_t j, n, p, k;
};

/// The product of two matrices of In, which are copied into blocks of T unless the tiles can read
/// them in place.
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
    for_blocks(
        [&](const BlockOfB& block) { x_.m == 0 ? pack_block(block) : multiply_block(block); });
  }

 private:
  static constexpr std::size_t L = Simd<Isa, T>::kLanes;
  static constexpr std::size_t K = Source<Isa, T, In>::kTerms;
  static constexpr bool kInPlace = std::is_same_v<In, T>;  // whether tiles can read B in place
  static constexpr std::size_t kInPlaceRows = 96;          // for more rows, packing B saves time

  // Whether the K numbers of a step lie in a row of A in the same way as in a packed block.
  static constexpr bool kSteps = sizeof(In) * K == sizeof(T) && kStepsInPlace<Isa>;
  // Whether a packed A has the steps of a row side by side even if A is transposed.
  static constexpr bool kRowsOfSteps = kTileSteps<Isa> > 1;

  bool a_in_place() const {
    if (a_transposed_) return kInPlace && x_.n <= 64 && x_.k <= 128;
    return kSteps && x_.k % (K * kTileSteps<Isa>) == 0 && x_.a.stride % K == 0 &&
           reinterpret_cast<std::uintptr_t>(x_.a.data) % sizeof(T) == 0;
  }

  template <class Body>
  void for_blocks(const Body& body) const {
    const std::size_t columns = part_of(x_.n, kBlockColumns<T>, 64);
    // Without AMX, all classes cut k into the same parts, with an even number of terms.
    const std::size_t depth = kRowsOfSteps ? part_of(steps_, kBlockDepth, kTileSteps<Isa>)
                                           : part_of(steps_, kBlockDepth / K, 2 / K);
    for (std::size_t j = 0; j < x_.n; j += columns) {
      std::size_t p = 0;
      do {  // runs once for k = 0, to compute beta C
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

  /// Cuts a block's columns into panels of equal width, at most the width of a tile; the last may
  /// be narrower. Calls body(first vector, number of vectors) for each panel.
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
    with_constant<TileSizes<Isa>::kVectors>(widest, [&](auto width) {
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
    const bool side_by_side = kRowsOfSteps || !a_transposed_;  // steps of a row of A
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
      with_constant<Width>(vectors, [&](auto width) { tiles.template multiply<width>(rows, job); });
    });
  }

  const Product<T, In>& x_;
  T* block_of_b_;
  T* packed_a_;
  bool b_in_place_, a_transposed_, pack_a_;
  std::size_t steps_;  // steps of the sums, including steps of zeros at the end
};

template <class Isa, class T, class In>
void packed_gemm(const Product<T, In>& product, void* scratch) {
  static_assert((kBlockColumns<T> + kPackRows) * kBlockDepth * sizeof(T) <= kPackedGemmScratch);
  BlockedProduct<Isa, T, In>(product, static_cast<T*>(scratch)).run();
}

}  // namespace xgrad::detail
