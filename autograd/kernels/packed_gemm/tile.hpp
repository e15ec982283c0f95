// The innermost loop of the packed product: a tile of C held in registers. Not installed.
#pragma once

#include <xgrad/autograd/kernels/packed_gemm/simd.hpp>

namespace xgrad::detail {

/// C = alpha A B + beta C for one tile of C. The function that runs it fixes the tile's size.
template <class T>
struct TileJob {
  typedef T Element __attribute__((may_alias));  // a pair of Bf16, where A is read in place
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

/// The steps that a tile takes at a time. If there are several, each row of a packed A has its
/// steps side by side, and packing adds steps of zeros up to a multiple of them.
template <class Isa>
inline constexpr std::size_t kTileSteps = 1;

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
/// Every element is one chain of multiply-adds in the order of p for any R and V, so its bits do
/// not depend on the tile. B is prefetched eight rows ahead. C, which is needed only at the end, is
/// prefetched line by line in the first steps, because a burst of prefetches would stall the loop.
template <class Isa, class T, int R, int V>
void multiply_tile(const TileJob<T>& job) {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
  constexpr int kGroups = (R + 3) / 4;  // of rows with a pointer, as one per row fits no registers
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

}  // namespace xgrad::detail
