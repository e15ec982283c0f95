// The packed product for x86-64 with AVX; only this file is compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T>
void packed_gemm_avx(const Product<T>& product, void* scratch) {
  multiply<Avx>(product, static_cast<T*>(scratch));
}

template void packed_gemm_avx(const Product<float>&, void*);
template void packed_gemm_avx(const Product<double>&, void*);

}  // namespace xgrad::detail
