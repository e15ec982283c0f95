#include <xgrad/autograd/gemm.hpp>

// The BLAS layer alone: xtensor-blas/xlinalg.hpp would cost 100,000 lines more.
#include <complex>
#include <type_traits>

#include <xtensor-blas/xblas_config.hpp>
#include <xflens/cxxblas/cxxblas.cxx>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

extern "C" {
int openblas_get_num_threads();
void openblas_set_num_threads(int);
char* openblas_get_corename();
}

namespace xgrad {

namespace {

// OpenBLAS's own threads stay off: its bits depend on their number, and they fight with TBB's.
void use_one_blas_thread() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)done;
}

cxxblas::Transpose flag(Transpose t) {
  return t == Transpose::yes ? cxxblas::Trans : cxxblas::NoTrans;
}

// The reference product, for long double, which no BLAS has.
template <class T>
void naive_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
                T beta, T* c, std::size_t ldc) {
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

}  // namespace

template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta,
          T* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, long double>) {
    naive_gemm(m, n, k, alpha, a, b, beta, c, ldc);
  } else {
    use_one_blas_thread();
    cxxblas::gemm(cxxblas::RowMajor, flag(a.transpose), flag(b.transpose), int(m), int(n), int(k), alpha,
                  a.data, int(a.stride), b.data, int(b.stride), beta, c, int(ldc));
  }
}

template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc) {
  constexpr std::size_t tile_rows = 512;  // fewer rows cost more: B is packed anew at every call
  parallel_for(m, tile_rows, [&](std::size_t begin, std::size_t end) {
    MatrixView<T> rows = a;
    rows.data += a.transpose == Transpose::yes ? begin : begin * a.stride;
    gemm(end - begin, n, k, alpha, rows, b, beta, c + begin * ldc, ldc);
  });
}

const char* blas_core() { return openblas_get_corename(); }

#define XGRAD_INSTANTIATE(T)                                                                   \
  template void gemm(std::size_t, std::size_t, std::size_t, T, MatrixView<T>, MatrixView<T>, T, T*, \
                     std::size_t);                                                             \
  template void parallel_gemm(std::size_t, std::size_t, std::size_t, T, MatrixView<T>, MatrixView<T>, \
                              T, T*, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
