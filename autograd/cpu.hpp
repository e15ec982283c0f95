// Which vector instructions matrix products use, found out once when the program starts to need it,
// and which ones all else was compiled for.
#pragma once

namespace xgrad {

/// Classes of processors. Results are the same bits within a class, and differ by rounding between
/// classes.
enum class Cpu { baseline, avx2, avx512 };

/// The class that matrix products run on, that of this processor: avx2 with AVX2 and FMA
/// (x86-64-v3), avx512 with AVX-512 F, BW, CD, DQ and VL (x86-64-v4), else baseline. The
/// environment variable XGRAD_CPU (baseline, avx2, avx512; empty counts as unset) lowers it, so
/// that tests can run every class that the processor has. Throws ConfigError where XGRAD_CPU is
/// another word, or a class that this processor lacks.
Cpu cpu();

/// The class whose instructions the other kernels were compiled for; nothing lowers it.
Cpu compiled_cpu();

/// baseline, avx2 or avx512.
const char* cpu_name(Cpu cpu);

namespace detail {
/// cpu() on a processor of the class `best` where XGRAD_CPU is `name`; null: it is not set.
Cpu choose_cpu(const char* name, Cpu best);
}  // namespace detail

}  // namespace xgrad
