// The processor classes of matrix products, detected once at run time, and of other kernels, fixed
// at compile time.
#pragma once

#include <string>

namespace xgrad {

/// Classes of processors. baseline has the instructions of every processor of the architecture; on
/// ARM64 they are NEON's, and the class is named neon.
enum class Cpu { baseline, avx2, avx512, avx512_bf16, amx };

/// The class that matrix products use: avx2 on processors with AVX2 and FMA (x86-64-v3), avx512
/// with AVX-512 F, BW, CD, DQ and VL (x86-64-v4), avx512_bf16 if it also has AVX512_BF16, amx if it
/// also has AMX_TILE and AMX_BF16 and Linux lets the process use them, else baseline. Intel
/// processors skip avx512_bf16, because its instruction is slower there than avx512 in float32. The
/// environment variable XGRAD_CPU (the name of a class; empty counts as unset) selects any class
/// that the processor has, so that tests can run all of them. Throws ConfigError when XGRAD_CPU has
/// another value, names a class that the processor lacks, or is amx and the system does not let the
/// process use it.
Cpu cpu();

/// The class that the other kernels were compiled for. XGRAD_CPU does not change it.
Cpu compiled_cpu();

/// The name of a class: baseline (neon on ARM64), avx2, avx512, avx512_bf16 or amx.
const char* cpu_name(Cpu cpu);

/// The name of the arithmetic that this process computes in. Results have the same bits if it is
/// the same, on any processor and with any compiler and C library. It is fma-1 on processors with
/// fused multiply-add (avx2 and above, neon) and no-fma-1 on the others. If AMX computes
/// `bf16_products`, it is amx-1. The number at its end grows when xgrad's own formulas change.
const char* arithmetic(bool bf16_products);

namespace detail {
/// The class that cpu() returns if XGRAD_CPU is not set, on a processor of class `best`.
Cpu default_cpu(Cpu best, bool intel, bool amx_permitted);
/// The class of this name. Throws ConfigError unless a processor of class `best` has it.
Cpu named_cpu(const std::string& name, Cpu best);
}  // namespace detail

}  // namespace xgrad
