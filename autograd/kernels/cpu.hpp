// The processor classes of matrix products, detected once at run time, and of other kernels, fixed
// at compile time.
#pragma once

namespace xgrad {

/// Classes of processors. Results have the same bits within a class and differ by rounding between
/// classes; avx512, avx512_bf16 and amx differ from each other only in products of Bf16.
enum class Cpu { baseline, avx2, avx512, avx512_bf16, amx };

/// The class that matrix products use: avx2 on processors with AVX2 and FMA (x86-64-v3), avx512
/// with AVX-512 F, BW, CD, DQ and VL (x86-64-v4), avx512_bf16 if it also has AVX512_BF16, else
/// baseline. The environment variable XGRAD_CPU (the name of a class; empty counts as unset)
/// selects a lower class, so that tests can run every class of the processor, or amx if the
/// processor also has AMX_TILE and AMX_BF16. amx is used only on request, because no such processor
/// was measured. Throws ConfigError when XGRAD_CPU has another value, names a class that the
/// processor lacks, or is amx and the system does not let the process use it.
Cpu cpu();

/// The class that the other kernels were compiled for. XGRAD_CPU does not change it.
Cpu compiled_cpu();

/// The name of a class: baseline, avx2, avx512, avx512_bf16 or amx.
const char* cpu_name(Cpu cpu);

namespace detail {
/// The class that cpu() returns on a processor of class `best` if XGRAD_CPU is `name`; a null name
/// stands for an XGRAD_CPU that is not set.
Cpu choose_cpu(const char* name, Cpu best);
}  // namespace detail

}  // namespace xgrad
