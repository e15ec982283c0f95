// Matrix products: the one place where BLAS is called.
#pragma once

#include <cstddef>

namespace xgrad {

enum class Transpose : bool { no, yes };

/// A matrix in memory: row-major, `stride` elements from a row to the next; read transposed if asked.
template <class T>
struct MatrixView {
  const T* data;
  std::size_t stride;
  Transpose transpose = Transpose::no;
};

/// C = alpha A B + beta C on the caller's thread; A is m x k, B is k x n after their transposes, C is m x n
/// with `ldc` elements from row to row. With beta = 0, C is not read. Requires: C overlaps neither A nor B.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta,
          T* c, std::size_t ldc);

/// The same, with C cut into fixed tiles that run in parallel. The cut depends on the shape alone, since the
/// bits of a BLAS product depend on it; so the bits are the same for any number of threads.
template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc);

/// Vendor and core of the BLAS in use, for `xgrad info` and checkpoints.
const char* blas_core();

}  // namespace xgrad
