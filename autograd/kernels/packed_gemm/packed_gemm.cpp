#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>

#include <type_traits>

#include <xgrad/autograd/bfloat16.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>

namespace xgrad::detail {

template <class T, class In>
PackedGemm<T, In> packed_gemm() {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<In, Bf16>) {
    if (cpu() == Cpu::amx) return packed_gemm_amx;
    if (cpu() == Cpu::avx512_bf16) return packed_gemm_avx512_bf16;
  }
  if (cpu() >= Cpu::avx512) return packed_gemm_avx512<T, In>;
  if (cpu() == Cpu::avx2) return packed_gemm_avx2<T, In>;
  if constexpr (std::is_same_v<In, T>) {
    if (__builtin_cpu_supports("avx")) return packed_gemm_avx<T>;
  }
#endif
  return packed_gemm_baseline<T, In>;
}

template PackedGemm<float> packed_gemm();
template PackedGemm<double> packed_gemm();
template PackedGemm<float, Bf16> packed_gemm();

}  // namespace xgrad::detail
