// The packed product for x86-64-v3; only this file is compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {
template void packed_gemm<Avx2>(const Product<float>&, void*);
template void packed_gemm<Avx2>(const Product<double>&, void*);
template void packed_gemm<Avx2>(const Product<float, Bf16>&, void*);
}  // namespace xgrad::detail
