#include <xgrad/autograd/kernels/gemm.hpp>

#include <algorithm>
#include <memory>
#include <type_traits>

#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

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

// The product for long double, which has no vector instructions.
template <class T>
void naive_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                MatrixView<T> b, T beta, T* c, std::size_t ldc) {
  const auto at = [](const MatrixView<T>& x, std::size_t row, std::size_t column) {
    return x.transpose == Transpose::yes ? x.data[column * x.stride + row]
                                         : x.data[row * x.stride + column];
  };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::size_t p = 0; p < k; ++p) sum += at(a, i, p) * at(b, p, j);
      c[i * ldc + j] = alpha * sum + (beta == T(0) ? T(0) : beta * c[i * ldc + j]);
    }
  }
}

struct Tiles {
  std::size_t rows, columns;
};

// Two tiles per thread, which evens out unequal tiles. Cuts columns before rows, since each tile
// packs its columns of B. The bits of C do not depend on the tiles.
Tiles tiles_for(std::size_t m, std::size_t n, std::size_t k) {
  constexpr std::size_t kWorthwhile = std::size_t(1) << 20;  // about 10 us of work
  const auto count = std::size_t(threads());
  if (count == 1 || m * n * k < kWorthwhile) return {m, n};
  const auto part = [](std::size_t size, std::size_t parts, std::size_t least) {
    const std::size_t even = (size + parts - 1) / parts;
    return std::max(least, (even + 63) / 64 * 64);
  };
  const std::size_t columns = part(n, 2 * count, 192);
  const std::size_t across = (n + columns - 1) / columns;
  return {part(m, (2 * count + across - 1) / across, 64), columns};
}

}  // namespace

template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
          T beta, T* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  detail::count_product(m, n, k);
  if constexpr (std::is_same_v<T, long double>) {
    naive_gemm(m, n, k, alpha, a, b, beta, c, ldc);
  } else {
    static const detail::PackedGemm<T> packed = detail::packed_gemm<T>();
    packed({m, n, k, alpha, a, b, beta, c, ldc}, scratch());
  }
}

template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  const Tiles tiles = tiles_for(m, n, k);
  const std::size_t columns = (n + tiles.columns - 1) / tiles.columns;
  const std::size_t rows = (m + tiles.rows - 1) / tiles.rows;
  parallel_for(rows * columns, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t i = tile / columns * tiles.rows, j = tile % columns * tiles.columns;
      MatrixView<T> a_rows = a, b_columns = b;
      a_rows.data += a.transpose == Transpose::yes ? i : i * a.stride;
      b_columns.data += b.transpose == Transpose::yes ? j * b.stride : j;
      gemm(std::min(tiles.rows, m - i), std::min(tiles.columns, n - j), k, alpha, a_rows, b_columns,
           beta, c + i * ldc + j, ldc);
    }
  });
}

#define XGRAD_INSTANTIATE(T)                                                                    \
  template void gemm(std::size_t, std::size_t, std::size_t, T, MatrixView<T>, MatrixView<T>, T, \
                     T*, std::size_t);                                                          \
  template void parallel_gemm(std::size_t, std::size_t, std::size_t, T, MatrixView<T>,          \
                              MatrixView<T>, T, T*, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
