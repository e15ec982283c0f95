// The packed product for every processor of the architecture; only this file is always compiled
// without optional instructions.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T>
void packed_gemm_baseline(const Product<T>& product, void* scratch) {
  multiply<Baseline>(product, static_cast<T*>(scratch));
}

template void packed_gemm_baseline(const Product<float>&, void*);
template void packed_gemm_baseline(const Product<double>&, void*);

}  // namespace xgrad::detail
