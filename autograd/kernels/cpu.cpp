#include <xgrad/autograd/kernels/cpu.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

#if defined(__aarch64__)
constexpr const char* kBaseline = "neon";
constexpr bool kBaselineFuses = true;
#else
constexpr const char* kBaseline = "baseline";
constexpr bool kBaselineFuses = false;
#endif
constexpr std::array kNames{kBaseline, "avx2", "avx512", "avx512_bf16", "amx"};

#if defined(__x86_64__)
// GCC 12 has no name for AMX in __builtin_cpu_supports, and GCC and clang name the bits of CPUID
// differently. XCR0 tells whether the system saves the registers.
bool has_amx() {
  constexpr unsigned kOsxsave = 1u << 27, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  constexpr unsigned kTileState = 3u << 17;
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsxsave) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState;
}

// Linux lets a process use AMX only if it asks, because AMX registers enlarge the stack frame of
// every signal.
bool permit_amx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool is_intel() {
  return __builtin_cpu_is("intel");
}
#else
bool permit_amx() {
  return false;
}
bool is_intel() {
  return false;
}
#endif

Cpu detect() {
#if defined(__x86_64__)
  // Tests every feature that -march=x86-64-v3 or -v4 lets the compiler use; a virtual machine may
  // lack a single one, such as BMI.
  if (__builtin_cpu_supports("x86-64-v4")) {
    if (!__builtin_cpu_supports("avx512bf16")) return Cpu::avx512;
    return has_amx() ? Cpu::amx : Cpu::avx512_bf16;
  }
  if (__builtin_cpu_supports("x86-64-v3")) return Cpu::avx2;
#endif
  return Cpu::baseline;
}

}  // namespace

Cpu detail::default_cpu(Cpu best, bool intel, bool amx_permitted) {
  if (best == Cpu::amx && amx_permitted) return Cpu::amx;
  return std::min(best, intel ? Cpu::avx512 : Cpu::avx512_bf16);
}

Cpu detail::named_cpu(const std::string& name, Cpu best) {
  std::string valid;
  const char* lacks = "";
  for (const Cpu cpu : {Cpu::baseline, Cpu::avx2, Cpu::avx512, Cpu::avx512_bf16, Cpu::amx}) {
    if (cpu <= best && name == cpu_name(cpu)) return cpu;
    if (cpu <= best) valid += (valid.empty() ? "" : ", ") + std::string(cpu_name(cpu));
    if (cpu > best && name == cpu_name(cpu)) lacks = ", which this processor lacks";
  }
  fail<ConfigError>("XGRAD_CPU is '", name, "'", lacks, "; it must be one of ", valid);
}

Cpu cpu() {
  static const Cpu value = [] {
    const char* variable = std::getenv("XGRAD_CPU");
    const std::string asked = variable == nullptr ? "" : variable;
    const Cpu best = detect();
    if (asked.empty())
      return detail::default_cpu(best, is_intel(), best == Cpu::amx && permit_amx());
    const Cpu chosen = detail::named_cpu(asked, best);
    const bool permitted = chosen != Cpu::amx || permit_amx();
    check<ConfigError>(permitted,
                       "XGRAD_CPU is 'amx', which the system does not let this process use: ",
                       std::strerror(errno));
    return chosen;
  }();
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
  return kNames[std::size_t(cpu)];
}

const char* arithmetic(bool bf16_products) {
  if (bf16_products && cpu() == Cpu::amx) return "amx-1";
  return kBaselineFuses || cpu() >= Cpu::avx2 ? "fma-1" : "no-fma-1";
}

}  // namespace xgrad
