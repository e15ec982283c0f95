// Processor classes. Matrix products use the class of the processor, which is detected once at run
// time. All other kernels use the class that they were compiled for.
#pragma once

#include <string>

namespace xgrad {

/// Classes of processors. baseline has only instructions that every processor of the architecture
/// has. On ARM64 these include NEON, and the name of the class is neon.
enum class Cpu { baseline, avx2, avx512, avx512_bf16, amx };

/// The class that matrix products use: the last line of this table with true conditions.
///
///     baseline     always
///     avx2         the processor has AVX2 and FMA (x86-64-v3)
///     avx512       also AVX-512 F, BW, CD, DQ and VL (x86-64-v4)
///     avx512_bf16  also AVX512_BF16
///     amx          also AMX_TILE and AMX_BF16, and Linux lets the process use them
///
/// Intel processors skip avx512_bf16, because on them products of Bf16 in this class are slower
/// than products of float in avx512. The environment variable XGRAD_CPU can name any class that the
/// processor has, so that tests can run all classes; an empty value counts as unset. Throws
/// ConfigError when XGRAD_CPU is not the name of a class, names a class that the processor lacks,
/// or names amx although the system does not let the process use AMX.
Cpu cpu();

/// The class that the other kernels were compiled for. XGRAD_CPU does not change it.
Cpu compiled_cpu();

/// The name of a class: baseline (neon on ARM64), avx2, avx512, avx512_bf16 or amx.
const char* cpu_name(Cpu cpu);

/// The name of this process's arithmetic. Processes with the same name compute the same bits, on
/// any processor, with any compiler and C library. One exception: in products of Bf16, class
/// avx512_bf16 treats subnormal numbers as 0. The name is amx-1 if the process computes products of
/// Bf16 (`bf16_products`) with AMX. Otherwise it is fma-1 in classes with fused multiply-add (avx2
/// and above, neon), no-fma-1 in the others. The number grows when xgrad's own formulas change.
const char* arithmetic(bool bf16_products);

namespace detail {
/// The class that cpu() returns if XGRAD_CPU is not set, on a processor of class `best`.
Cpu default_cpu(Cpu best, bool intel, bool amx_permitted);
/// The class of this name. Throws ConfigError unless a processor of class `best` has it.
Cpu named_cpu(const std::string& name, Cpu best);
}  // namespace detail

}  // namespace xgrad
