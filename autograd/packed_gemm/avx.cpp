// The packed product in the instructions of x86-64 with AVX, for which this file alone is compiled.
#include <xgrad/autograd/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T>
void packed_gemm_avx(const Product<T>& product, void* scratch) {
  multiply<Avx>(product, static_cast<T*>(scratch));
}

template void packed_gemm_avx(const Product<float>&, void*);
template void packed_gemm_avx(const Product<double>&, void*);

}  // namespace xgrad::detail
