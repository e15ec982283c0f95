// Matrix products, with a packed kernel for each class of processors (cpu.hpp).
#pragma once

#include <cstddef>
#include <type_traits>

#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A pointer to elements of type T or, for T = float, of type Bf16.
template <class T>
class Elements {
 public:
  Elements() = default;
  Elements(const T* first) : first_(first) {}
  Elements(const Bf16* first) : first_(first), is_bf16_(true) {}

  /// Whether there are elements.
  explicit operator bool() const { return first_ != nullptr; }
  /// Whether the elements are of type Bf16.
  bool is_bf16() const { return is_bf16_; }
  /// The first element. Requires: the elements have the type E.
  template <class E>
  const E* of() const {
    return static_cast<const E*>(first_);
  }
  /// The elements from element n on.
  Elements operator+(std::size_t n) const {
    Elements later = *this;
    const std::size_t bytes = n * (is_bf16_ ? sizeof(Bf16) : sizeof(T));
    later.first_ = static_cast<const char*>(first_) + bytes;
    return later;
  }

 private:
  const void* first_ = nullptr;
  bool is_bf16_ = false;
};

/// Whether a matrix is read transposed.
enum class Transpose : bool { no, yes };

/// A view of a row-major matrix, optionally read transposed.
template <class T>
struct MatrixView {
  Elements<T> data;                     ///< first element
  std::size_t stride;                   ///< distance between rows, in elements
  Transpose transpose = Transpose::no;  ///< whether to read it transposed

  /// The view from row i and column j on, both counted after transposition.
  MatrixView from(std::size_t i, std::size_t j) const {
    const bool swapped = transpose == Transpose::yes;
    return {data + (swapped ? j * stride + i : i * stride + j), stride, transpose};
  }
};

/// C = alpha A B + beta C on the caller's thread. After transposition A is m x k and B is k x n; C
/// is m x n with rows `ldc` elements apart. With beta = 0, C is not read. Requires: C overlaps
/// neither A nor B, and A and B have elements of one type.
///
/// With Bf16, each product of two elements is exact in float. The sums are rounded to float, as
/// with A and B of float.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a, MatrixView<T> b,
          T beta, T* c, std::size_t ldc);

/// gemm() in parallel over tiles of C. The bits are the same for any number of threads. Separate
/// calls for parts of C give the same bits, too.
template <class T>
void parallel_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                   MatrixView<T> b, T beta, T* c, std::size_t ldc);

/// The right factor B of many products, copied once into the order in which the kernels read it.
/// Without this copy, every product copies B again, which takes nearly as long as the product
/// itself if A has few rows. T is float or double.
template <class T>
class PackedMatrix {
 public:
  /// Copies b, which is k x n after transposition.
  PackedMatrix(std::size_t n, std::size_t k, MatrixView<T> b);

  /// Whether it is a copy of a k x n matrix.
  bool has_size(std::size_t n, std::size_t k) const { return n_ == n && k_ == k; }

 private:
  template <class U>
  friend void parallel_gemm(std::size_t m, U alpha, MatrixView<U> a, const PackedMatrix<U>& b,
                            U beta, U* c, std::size_t ldc);

  std::size_t n_, k_;
  Tensor<T> blocks_;  // the blocks of B, one group of columns after the other
};

/// parallel_gemm() with a packed B. A and B have elements of the same type. Gives the same bits as
/// without packing.
template <class T>
void parallel_gemm(std::size_t m, T alpha, MatrixView<T> a, const PackedMatrix<T>& b, T beta, T* c,
                   std::size_t ldc);

}  // namespace xgrad
