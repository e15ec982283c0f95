#include <xgrad/autograd/kernels/gemm.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>

#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

// This thread's work space for packed products, kept between calls.
void* scratch() {
  struct Free {
    void operator()(void* pointer) const {
      detail::deallocate(pointer, detail::kPackedGemmScratch);
    }
  };
  thread_local const std::unique_ptr<void, Free> space(
      detail::allocate(detail::kPackedGemmScratch));
  return space.get();
}

// The four dot products of two rows, whose elements are `next_a` apart, with two columns. An
// addition waits for the one before it in its sum, so four sums at a time are faster. This is a
// function of its own, so that the sums have all registers of long double, which are few.
template <class T>
[[gnu::noinline]] std::array<T, 4> dot_products(std::size_t k, const T* upper, const T* lower,
                                                std::size_t next_a, const T* left, const T* right,
                                                std::size_t next_b) {
  T upper_left = 0, upper_right = 0, lower_left = 0, lower_right = 0;
  for (std::size_t p = 0; p < k; ++p) {
    const T x = upper[p * next_a], y = lower[p * next_a];
    const T v = left[p * next_b], w = right[p * next_b];
    upper_left += x * v;
    upper_right += x * w;
    lower_left += y * v;
    lower_right += y * w;
  }
  return {upper_left, upper_right, lower_left, lower_right};
}

// The product for long double, which has no vector instructions. Past the edge it repeats the last
// row or column and drops the result.
template <class T>
void naive_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                MatrixView<T> b, T beta, T* c, std::size_t ldc) {
  const auto row = [&](std::size_t i) { return a.from(i, 0).data.template of<T>(); };
  const auto column = [&](std::size_t j) { return b.from(0, j).data.template of<T>(); };
  const std::size_t next_a = a.transpose == Transpose::yes ? a.stride : 1;
  const std::size_t next_b = b.transpose == Transpose::yes ? 1 : b.stride;
  for (std::size_t i = 0; i < m; i += 2) {
    for (std::size_t j = 0; j < n; j += 2) {
      const std::array<T, 4> dots = dot_products(k, row(i), row(std::min(i + 1, m - 1)), next_a,
                                                 column(j), column(std::min(j + 1, n - 1)), next_b);
      for (std::size_t e = 0; e < dots.size(); ++e) {
        if (i + e / 2 >= m || j + e % 2 >= n) continue;
        T& place = c[(i + e / 2) * ldc + j + e % 2];
        place = alpha * dots[e] + (beta == T(0) ? T(0) : beta * place);
      }
    }
  }
}

constexpr std::size_t kWorthwhile = std::size_t(1) << 20;  // multiply-adds: about 10 us of work

using detail::divide_up;

struct TileSize {
  std::size_t rows, columns;
};

// Two tiles per thread, which evens out unequal tiles. Cuts columns before rows, since each tile
// packs its columns of B. The bits of C do not depend on the tiles.
TileSize tile_size(std::size_t m, std::size_t n, std::size_t k) {
  const auto count = std::size_t(threads());
  if (count == 1 || m * n * k < kWorthwhile) return {m, n};
  const auto part = [](std::size_t size, std::size_t parts, std::size_t least) {
    return std::max(least, divide_up(divide_up(size, parts), 64) * 64);
  };
  const std::size_t columns = part(n, 2 * count, 192);
  return {part(m, divide_up(2 * count, divide_up(n, columns)), 64), columns};
}

// Columns of B that are packed together. They are enough work for a task, and few enough for
// several threads to share the columns of a layer.
constexpr std::size_t kPackedColumns = 192;

// The size of a tile of a product with a packed B. Cutting a packed B costs nothing.
TileSize packed_tile_size(std::size_t m, std::size_t n, std::size_t k) {
  const auto count = std::size_t(threads());
  if (count == 1 || m * n * k < kWorthwhile) return {m, kPackedColumns};
  const std::size_t parts = divide_up(2 * count, divide_up(n, kPackedColumns));
  return {std::max<std::size_t>(32, divide_up(divide_up(m, parts), 16) * 16), kPackedColumns};
}

// Calls body(i, j, rows, columns) in parallel for the tiles of C, each from row i and column j on.
template <class Body>
void for_each_tile(std::size_t m, std::size_t n, const TileSize& size, const Body& body) {
  const std::size_t columns = divide_up(n, size.columns), rows = divide_up(m, size.rows);
  parallel_for(rows * columns, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t i = tile / columns * size.rows, j = tile % columns * size.columns;
      body(i, j, std::min(size.rows, m - i), std::min(size.columns, n - j));
    }
  });
}

// The packed kernel for cpu().
template <class T, class In>
auto packed_gemm() {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<In, Bf16>) {
    if (cpu() == Cpu::amx) return detail::packed_gemm<detail::Amx, T, In>;
    if (cpu() == Cpu::avx512_bf16) return detail::packed_gemm<detail::Avx512Bf16, T, In>;
  }
  if (cpu() >= Cpu::avx512) return detail::packed_gemm<detail::Avx512, T, In>;
  if (cpu() == Cpu::avx2) return detail::packed_gemm<detail::Avx2, T, In>;
  if constexpr (std::is_same_v<In, T>) {
    if (__builtin_cpu_supports("avx")) return detail::packed_gemm<detail::Avx, T, In>;
  }
#endif
  return detail::packed_gemm<detail::Baseline, T, In>;
}

// C = alpha A B + beta C. `blocks`, if given, has room for the packed blocks of B: they are written
// if m is 0, and else read.
template <class T>
void run(std::size_t m, std::size_t n, std::size_t k, T alpha, const MatrixView<T>& a,
         const MatrixView<T>& b, T beta, T* c, std::size_t ldc, T* blocks = nullptr) {
  const auto run_as = [&]<class In>(const In*) {
    static const auto packed = packed_gemm<T, In>();
    const auto factor = [](const MatrixView<T>& x) {
      return detail::Factor<In>{x.data.template of<In>(), x.stride, x.transpose};
    };
    packed({m, n, k, alpha, factor(a), factor(b), beta, c, ldc, blocks}, scratch());
  };
  if constexpr (std::is_same_v<T, long double>) {
    naive_gemm(m, n, k, alpha, a, b, beta, c, ldc);
  } else if (a.data.is_bf16()) {
    if constexpr (std::is_same_v<T, float>) run_as(static_cast<const Bf16*>(nullptr));
  } else {
    run_as(static_cast<const T*>(nullptr));
  }
}

}  // namespace

template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
          T beta, T* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  detail::count_product(m, n, k);
  run(m, n, k, alpha, a, b, beta, c, ldc);
}

template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  for_each_tile(m, n, tile_size(m, n, k),
                [&](std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) {
                  gemm(rows, columns, k, alpha, a.from(i, 0), b.from(0, j), beta, c + i * ldc + j,
                       ldc);
                });
}

template <class T>
PackedMatrix<T>::PackedMatrix(std::size_t n, std::size_t k, MatrixView<T> b)
    : n_(n), k_(k), blocks_(empty<T>({detail::packed_size<T>(n, k)})) {
  for (std::size_t j = 0; j < n; j += kPackedColumns) {
    const MatrixView<T> columns = b.from(0, j);
    run<T>(0, std::min(kPackedColumns, n - j), k, 1, columns, columns, 0, nullptr, 0,
           blocks_.data() + detail::packed_size<T>(j, k));
  }
}

template <class T>
void parallel_gemm(std::size_t m, T alpha, MatrixView<T> a, const PackedMatrix<T>& b, T beta, T* c,
                   std::size_t ldc) {
  const std::size_t n = b.n_, k = b.k_;
  if (m == 0 || n == 0) return;
  detail::count_product(m, n, k);
  for_each_tile(m, n, packed_tile_size(m, n, k),
                [&](std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) {
                  // If a product has rows, the kernel only reads the blocks.
                  T* blocks = const_cast<T*>(b.blocks_.data()) + detail::packed_size<T>(j, k);
                  const MatrixView<T> left = a.from(i, 0);
                  run(rows, columns, k, alpha, left, left, beta, c + i * ldc + j, ldc, blocks);
                });
}

#define XGRAD_INSTANTIATE(T)                                                                \
  template decltype(gemm<T>) gemm<T>;                                                       \
  template void parallel_gemm(std::size_t, std::size_t, std::size_t, T, MatrixView<T>,      \
                              MatrixView<T>, T, T*, std::size_t);                           \
  template class PackedMatrix<T>;                                                           \
  template void parallel_gemm(std::size_t, T, MatrixView<T>, const PackedMatrix<T>&, T, T*, \
                              std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
