// The packed product for x86-64 with AVX; only this file is compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {
template void packed_gemm<Avx>(const Product<float>&, void*);
template void packed_gemm<Avx>(const Product<double>&, void*);
}  // namespace xgrad::detail
