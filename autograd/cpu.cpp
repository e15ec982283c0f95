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
