// The packed product for x86-64-v3; only this file is compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T, class In>
void packed_gemm_avx2(const Product<T, In>& product, void* scratch) {
  multiply<Avx2>(product, static_cast<T*>(scratch));
}

template void packed_gemm_avx2(const Product<float>&, void*);
template void packed_gemm_avx2(const Product<double>&, void*);
template void packed_gemm_avx2(const Product<float, Bf16>&, void*);

}  // namespace xgrad::detail
