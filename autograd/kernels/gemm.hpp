// Matrix products, with a packed kernel for each class of processors (cpu.hpp).
#pragma once

#include <cstddef>

namespace xgrad {

/// Whether a matrix is read transposed.
enum class Transpose : bool { no, yes };

/// A view of a row-major matrix, optionally read transposed.
template <class T>
struct MatrixView {
  const T* data;                        ///< first element
  std::size_t stride;                   ///< distance between rows, in elements
  Transpose transpose = Transpose::no;  ///< whether to read it transposed
};

/// C = alpha A B + beta C on the caller's thread. After transposition A is m x k and B is k x n; C
/// is m x n with rows `ldc` elements apart. With beta = 0, C is not read. Requires: C overlaps
/// neither A nor B.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
          T beta, T* c, std::size_t ldc);

/// gemm() in parallel over tiles of C. The bits are the same for any number of threads, and equal
/// those of separate calls for parts of C.
template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc);

}  // namespace xgrad
