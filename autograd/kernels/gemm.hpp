// Matrix products, with a packed kernel for each class of processors (cpu.hpp).
#pragma once

#include <cstddef>

#include <xgrad/autograd/tensor.hpp>

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
///
/// A and B have elements of C's type T or, if T is float, of type Bf16. A product of two Bf16 is
/// exact in float; the sums are rounded to float as they are for A and B of float.
template <class T, class In = T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<In> a, MatrixView<In> b,
          T beta, T* c, std::size_t ldc);

/// gemm() in parallel over tiles of C. The bits are the same for any number of threads, and equal
/// those of separate calls for parts of C.
template <class T, class In = T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<In> a,
                   MatrixView<In> b, T beta, T* c, std::size_t ldc);

/// The right factor B of many products, copied once into the order in which they read it. Products
/// of few rows, which copy nearly as much as they compute, are faster with it. T is float or
/// double.
template <class T, class In = T>
class PackedMatrix {
 public:
  /// Copies b, which is k x n after transposition.
  PackedMatrix(std::size_t n, std::size_t k, MatrixView<In> b);

  /// Whether it is a copy of a k x n matrix.
  bool has_size(std::size_t n, std::size_t k) const { return n_ == n && k_ == k; }

 private:
  template <class U, class UIn>
  friend void parallel_gemm(std::size_t m, U alpha, MatrixView<UIn> a,
                            const PackedMatrix<U, UIn>& b, U beta, U* c, std::size_t ldc);

  std::size_t n_, k_;
  Tensor<T> blocks_;  // of one piece of columns behind the other
};

/// parallel_gemm() with a packed B, to the same bits.
template <class T, class In = T>
void parallel_gemm(std::size_t m, T alpha, MatrixView<In> a, const PackedMatrix<T, In>& b, T beta,
                   T* c, std::size_t ldc);

}  // namespace xgrad
