// Matrix products, by packed kernels for each class of processors (cpu.hpp).
#pragma once

#include <cstddef>

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
/// threads, and for any cut of C that a caller makes.
template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc);

}  // namespace xgrad
