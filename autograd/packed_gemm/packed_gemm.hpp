// Matrix products by packed kernels, one for each class of processors. Not installed.
//
// C is computed in blocks (Goto and van de Geijn 2008): a block of B is packed so that it stays in
// the second cache, and tiles of C that fit the registers run over it, down the rows of A. Every
// element of C is the sum, in the order of k, of a chain of multiply-adds for each block of k,
// fused where the class has such an instruction; where these blocks begin depends on k alone. So
// the bits of C are the same however its rows and columns are cut, unlike those of a BLAS.
#pragma once

#include <cstddef>

#include <xgrad/autograd/gemm.hpp>

namespace xgrad::detail {

/// C = alpha A B + beta C, as for gemm().
template <class T>
struct Product {
  std::size_t m, n, k;
  T alpha;
  MatrixView<T> a, b;
  T beta;
  T* c;
  std::size_t ldc;
};

/// Bytes of work space that a packed product needs, aligned to 64.
inline constexpr std::size_t kPackedGemmScratch = 896 << 10;

template <class T>
using PackedGemm = void (*)(const Product<T>&, void* scratch);

/// The kernel for cpu().
template <class T>
PackedGemm<T> packed_gemm();

/// For every processor.
template <class T>
void packed_gemm_baseline(const Product<T>& product, void* scratch);

/// Only for processors that have the instructions. AVX alone has no fused multiply-add, so its bits
/// are those of baseline; its speed is more than twice as high.
template <class T>
void packed_gemm_avx(const Product<T>& product, void* scratch);
template <class T>
void packed_gemm_avx2(const Product<T>& product, void* scratch);
template <class T>
void packed_gemm_avx512(const Product<T>& product, void* scratch);

}  // namespace xgrad::detail
