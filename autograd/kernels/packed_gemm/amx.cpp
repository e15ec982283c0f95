// The packed product of bfloat16 matrices for AMX; only this file is compiled for it.
#include <xgrad/autograd/kernels/packed_gemm/blocks.hpp>

namespace xgrad::detail {

template <>
struct Source<Amx, float, Bf16> : Pairs<Amx, false> {};

template <>
inline constexpr std::size_t kTileSteps<Amx> = 16;

/// A register holds 16 rows of 64 bytes. An instruction multiplies 16 rows of 16 pairs of A by 16
/// rows of 16 pairs of B and adds to 16 x 16 floats. Four of the eight registers hold the sums of
/// 32 x 32 floats. Two hold rows of A, and two hold columns of B.
template <>
struct TileSizes<Amx> {
  static constexpr int kVectors = 2;
  static constexpr int rows(int) { return 32; }
};

/// Makes GCC 12 complete its stores to memory, because it does not know that tile loads read them.
[[gnu::always_inline]] inline void finish_stores(const void* to) {
  asm volatile("" : : "r"(to) : "memory");
}

/// The operand of LDTILECFG.
struct AmxConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16];

  /// Registers 0 and 1 hold the sums of rows 0 to 15, registers 2 and 3 those of rows 16 to 31.
  /// Registers 4 and 5 hold rows of A, and 6 and 7 hold columns of B.
  AmxConfig(std::uint8_t upper, std::uint8_t lower)
      : rows{upper, upper, lower, lower, upper, lower, 16, 16} {}
};
static_assert(sizeof(AmxConfig) == 64);

/// Configures the registers for as many rows as a tile has, so that no row beyond A is read.
template <>
struct TileKernels<Amx, float> {
  template <int V>
  void multiply(std::size_t rows, const TileJob<float>& job) {
    configure(rows);
    if (rows > 16) {
      multiply_tile<2, V>(rows, job);
    } else {
      multiply_tile<1, V>(rows, job);
    }
  }

 private:
  static constexpr std::size_t kStep = kTileSteps<Amx>;

  void configure(std::size_t rows) {
    if (rows == configured_rows_) return;
    const AmxConfig config(rows < 16 ? rows : 16, rows > 16 ? rows - 16 : 16);
    finish_stores(&config);
    _tile_loadconfig(&config);
    configured_rows_ = rows;
  }

  /// Computes a tile of `Halves` times up to 16 rows by V vectors.
  template <int Halves, int V>
  static void multiply_tile(std::size_t rows, const TileJob<float>& job) {
    const std::size_t a_bytes = job.a_row * sizeof(float), b_bytes = job.b_step * sizeof(float);
    const TileJob<float>::Element* a = job.a;
    const float* b = job.b;
    finish_stores(a);
    _tile_zero(0);
    if constexpr (V == 2) _tile_zero(1);
    if constexpr (Halves == 2) _tile_zero(2);
    if constexpr (Halves == 2 && V == 2) _tile_zero(3);
    for (std::size_t p = 0; p < job.k; p += kStep, a += kStep, b += kStep * job.b_step) {
      _tile_loadd(4, a, a_bytes);
      _tile_loadd(6, b, b_bytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (V == 2) {
        _tile_loadd(7, b + 16, b_bytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (Halves == 2) {
        _tile_loadd(5, a + 16 * job.a_row, a_bytes);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (V == 2) _tile_dpbf16ps(3, 5, 7);
      }
    }
    alignas(64) float sums[Halves * 16][V * 16];
    _tile_stored(0, sums[0], sizeof sums[0]);
    if constexpr (V == 2) _tile_stored(1, sums[0] + 16, sizeof sums[0]);
    if constexpr (Halves == 2) _tile_stored(2, sums[16], sizeof sums[0]);
    if constexpr (Halves == 2 && V == 2) _tile_stored(3, sums[16] + 16, sizeof sums[0]);
    write_rows<V>(rows, job, sums);
  }

  template <int V>
  static void write_rows(std::size_t rows, TileJob<float> job, const float (*sums)[V * 16]) {
    using S = Simd<Amx, float>;
    for (std::size_t r = 0; r < rows; ++r, job.c += job.ldc) {
      S::Vec sum[1][V];
      for (int v = 0; v < V; ++v) sum[0][v] = S::load(sums[r] + v * 16);
      write_tile<Amx, float, 1, V>(job, sum);
    }
  }

  std::size_t configured_rows_ = 0;
};

template <>
void packed_gemm<Amx>(const Product<float, Bf16>& product, void* scratch) {
  BlockedProduct<Amx, float, Bf16>(product, static_cast<float*>(scratch)).run();
  _tile_release();  // else the system saves the registers whenever the thread waits
}

}  // namespace xgrad::detail
