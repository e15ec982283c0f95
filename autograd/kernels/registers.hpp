// The vector registers that kernels are compiled for. Internal.
#pragma once

#include <cstddef>

namespace xgrad::detail {

/// Bytes of a vector register. A wider vector would live in memory.
#if defined(__AVX512F__)
inline constexpr std::size_t kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kRegisterBytes = 32;
#else
inline constexpr std::size_t kRegisterBytes = 16;
#endif

}  // namespace xgrad::detail
