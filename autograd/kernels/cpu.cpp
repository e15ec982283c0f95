#include <xgrad/autograd/kernels/cpu.hpp>

#include <cstdlib>
#include <string>
#include <string_view>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

Cpu detect() {
#if defined(__x86_64__)
  // Tests every feature that -march=x86-64-v3 or -v4 lets the compiler use; a virtual machine may
  // lack a single one, such as BMI.
  if (__builtin_cpu_supports("x86-64-v4")) {
    return __builtin_cpu_supports("avx512bf16") ? Cpu::avx512_bf16 : Cpu::avx512;
  }
  if (__builtin_cpu_supports("x86-64-v3")) return Cpu::avx2;
#endif
  return Cpu::baseline;
}

}  // namespace

Cpu detail::choose_cpu(const char* name, Cpu best) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted.empty()) return best;
  std::string valid;
  const char* lacks = "";
  for (const Cpu cpu : {Cpu::baseline, Cpu::avx2, Cpu::avx512, Cpu::avx512_bf16}) {
    if (cpu <= best && wanted == cpu_name(cpu)) return cpu;
    if (cpu <= best) valid += (valid.empty() ? "" : ", ") + std::string(cpu_name(cpu));
    if (cpu > best && wanted == cpu_name(cpu)) lacks = ", which this processor lacks";
  }
  fail<ConfigError>("XGRAD_CPU is '", wanted, "'", lacks, "; it must be one of ", valid);
}

Cpu cpu() {
  static const Cpu value = detail::choose_cpu(std::getenv("XGRAD_CPU"), detect());
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
    case Cpu::avx512_bf16:
      return "avx512_bf16";
  }
  return "";
}

}  // namespace xgrad
