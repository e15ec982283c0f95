// The packed product in the instructions of x86-64-v4, for which this file alone is compiled.
#include <xgrad/autograd/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T>
void packed_gemm_avx512(const Product<T>& product, void* scratch) {
  multiply<Avx512>(product, static_cast<T*>(scratch));
}

template void packed_gemm_avx512(const Product<float>&, void*);
template void packed_gemm_avx512(const Product<double>&, void*);

}  // namespace xgrad::detail
