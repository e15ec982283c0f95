#include <xgrad/autograd/cpu.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace xgrad {

namespace {

Cpu detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Cpu::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Cpu::avx2;
#endif
  return Cpu::baseline;
}

Cpu allowed() {
  const char* name = std::getenv("XGRAD_CPU");
  if (name == nullptr) return Cpu::avx512;
  for (const Cpu cpu : {Cpu::baseline, Cpu::avx2}) {
    if (std::strcmp(name, cpu_name(cpu)) == 0) return cpu;
  }
  return Cpu::avx512;
}

}  // namespace

Cpu cpu() {
  static const Cpu value = std::min(detect(), allowed());
  return value;
}

Cpu compiled_cpu() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
  return Cpu::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
  return Cpu::avx2;
#else
  return Cpu::baseline;
#endif
}

const char* cpu_name(Cpu cpu) {
  switch (cpu) {
    case Cpu::baseline:
      return "baseline";
    case Cpu::avx2:
      return "avx2";
    case Cpu::avx512:
      return "avx512";
  }
  return "";
}

}  // namespace xgrad
