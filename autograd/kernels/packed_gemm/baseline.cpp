// The packed product for every processor of the architecture; only this file is always compiled
// without optional instructions.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {
template void packed_gemm<Baseline>(const Product<float>&, void*);
template void packed_gemm<Baseline>(const Product<double>&, void*);
template void packed_gemm<Baseline>(const Product<float, Bf16>&, void*);
}  // namespace xgrad::detail
