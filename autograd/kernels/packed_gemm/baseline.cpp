// The packed product for every processor of the architecture; only this file is always compiled
// without optional instructions.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T, class In>
void packed_gemm_baseline(const Product<T, In>& product, void* scratch) {
  multiply<Baseline>(product, static_cast<T*>(scratch));
}

template void packed_gemm_baseline(const Product<float>&, void*);
template void packed_gemm_baseline(const Product<double>&, void*);
template void packed_gemm_baseline(const Product<float, Bf16>&, void*);

}  // namespace xgrad::detail
