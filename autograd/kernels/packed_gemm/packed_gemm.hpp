// Matrix products by packed kernels, one for each class of processors. Not installed.
//
// C is computed in blocks (Goto and van de Geijn 2008). A block of B is packed, so that it stays in
// the L2 cache. Then tiles of C that fit the registers are computed from this block and successive
// rows of A.
//
// An element of C is a sum of k products, cut into blocks in a way that depends on k alone. A chain
// of multiply-adds (fused ones if the class has them) sums each block. These sums are added to C in
// order. So, unlike in a BLAS, the bits of C do not depend on how rows and columns are cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>

namespace xgrad::detail {

/// n / by, rounded up. Always inlined, else the linker could merge versions of different classes.
[[gnu::always_inline]] constexpr std::size_t divide_up(std::size_t n, std::size_t by) {
  // 32-bit division is faster, and most sizes fit.
  if (n + by <= UINT32_MAX) return std::uint32_t(n + by - 1) / std::uint32_t(by);
  return (n + by - 1) / by;
}

/// A MatrixView of elements of a known type.
template <class In>
struct Factor {
  const In* data;
  std::size_t stride;
  Transpose transpose = Transpose::no;
};

/// The arguments of gemm(): C = alpha A B + beta C.
template <class T, class In = T>
struct Product {
  std::size_t m, n, k;
  T alpha;
  Factor<In> a, b;
  T beta;
  T* c;
  std::size_t ldc;
  /// Memory for all packed blocks of B, or null. A product with m = 0 only packs B into this
  /// memory. A product with m > 0 reads the packed blocks from this memory, and does not read B.
  T* blocks_of_b = nullptr;
};

/// The maximum number of elements of the packed blocks of a B (k rows, n columns) in any class.
template <class T>
constexpr std::size_t packed_size(std::size_t n, std::size_t k) {
  constexpr std::size_t kWidest = 64 / sizeof(T);
  constexpr std::size_t kShortest = 16;  // AMX takes at least 16 steps, each of two rows of B
  return (n + kWidest - 1) / kWidest * kWidest * (k < kShortest ? kShortest : k);
}

/// Bytes of work space that a packed product needs, aligned to 64.
inline constexpr std::size_t kPackedGemmScratch = 896 << 10;

/// A class of processors, with the size of its vectors in bytes.
template <std::size_t bytes>
struct Vectors {
  static constexpr std::size_t kBytes = bytes;
};
/// The kernel of Baseline runs on every processor: SSE2 on x86-64, NEON on ARM64, and 16-byte
/// vectors on other architectures. AVX has no fused multiply-add, so Avx gives the same bits as
/// Baseline, at more than twice the speed.
struct Baseline : Vectors<16> {};
struct Avx : Vectors<32> {};
struct Avx2 : Vectors<32> {};
struct Avx512 : Vectors<64> {};
/// AVX512_BF16, for products of Bf16. Its instruction multiplies two vectors of pairs and adds both
/// products of a pair to a float, the product of the upper halves first. Packing swaps the two
/// numbers of each pair, so that the first term is added first. Each addition rounds once, so the
/// bits are the same as with Avx512, except that subnormal numbers count as 0.
struct Avx512Bf16 : Vectors<64> {};
/// AVX-512 with AMX_TILE and AMX_BF16, for products of Bf16. Its instruction first sums 32 terms,
/// the even and the odd ones separately, and then adds both sums to C. It treats subnormal numbers
/// as 0. So its bits differ from the bits of the other kernels. Requires: the system lets the
/// process use AMX. This is so if cpu() has returned Cpu::amx.
struct Amx : Vectors<64> {};

/// The kernel of a class. For each class, one source file instantiates this kernel and is compiled
/// with the flags of the class.
template <class Isa, class T, class In = T>
void packed_gemm(const Product<T, In>& product, void* scratch);
template <>
void packed_gemm<Amx>(const Product<float, Bf16>& product, void* scratch);

}  // namespace xgrad::detail
