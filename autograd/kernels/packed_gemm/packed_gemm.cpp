#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>

#include <xgrad/autograd/kernels/cpu.hpp>

namespace xgrad::detail {

template <class T>
PackedGemm<T> packed_gemm() {
#if defined(__x86_64__)
  if (cpu() == Cpu::avx512) return packed_gemm_avx512<T>;
  if (cpu() == Cpu::avx2) return packed_gemm_avx2<T>;
  if (__builtin_cpu_supports("avx")) return packed_gemm_avx<T>;
#endif
  return packed_gemm_baseline<T>;
}

template PackedGemm<float> packed_gemm();
template PackedGemm<double> packed_gemm();

}  // namespace xgrad::detail
