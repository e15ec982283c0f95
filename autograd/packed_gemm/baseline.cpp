// The packed product in the instructions that every processor of the family has, for which this
// file alone is compiled.
#include <xgrad/autograd/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <class T>
void packed_gemm_baseline(const Product<T>& product, void* scratch) {
  multiply<Baseline>(product, static_cast<T*>(scratch));
}

template void packed_gemm_baseline(const Product<float>&, void*);
template void packed_gemm_baseline(const Product<double>&, void*);

}  // namespace xgrad::detail
