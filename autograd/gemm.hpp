// Matrix products: our own packed kernels on processors with AVX2 or AVX-512, else BLAS.
#pragma once

#include <cstddef>
#include <string>

namespace xgrad {

/// Whether a matrix stands for its transpose.
enum class Transpose : bool { no, yes };

/// A matrix in memory: row-major, `stride` elements from a row to the next; read transposed if
/// asked.
template <class T>
struct MatrixView {
  const T* data;                        ///< of the first element
  std::size_t stride;                   ///< elements from a row to the next
  Transpose transpose = Transpose::no;  ///< whether it stands for its transpose
};

/// C = alpha A B + beta C on the caller's thread; A is m x k, B is k x n after their transposes, C
/// is m x n with `ldc` elements from row to row. With beta = 0, C is not read. Requires: C overlaps
/// neither A nor B.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
          T beta, T* c, std::size_t ldc);

/// The same, with C cut into tiles that run in parallel. The bits are the same for any number of
/// threads, and on processors with AVX2 also for any cut of C that a caller makes.
template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc);

/// Core that the BLAS has chosen, for `xgrad info` and checkpoints.
const char* blas_core();

/// What checkpoints note of the processor: with another, the last bits differ. The name of cpu(),
/// and that of blas_core() where it is OpenBLAS that multiplies.
std::string cpu_class();

}  // namespace xgrad
