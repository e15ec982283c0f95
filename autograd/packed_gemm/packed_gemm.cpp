#include <xgrad/autograd/packed_gemm/packed_gemm.hpp>

#include <xgrad/autograd/cpu.hpp>

namespace xgrad::detail {

template <class T>
PackedGemm<T> packed_gemm() {
#if defined(__x86_64__)
  switch (cpu()) {
    case Cpu::avx512:
      return packed_gemm_avx512<T>;
    case Cpu::avx2:
      return packed_gemm_avx2<T>;
    case Cpu::baseline:
      break;
  }
#endif
  return nullptr;
}

template PackedGemm<float> packed_gemm();
template PackedGemm<double> packed_gemm();

}  // namespace xgrad::detail
