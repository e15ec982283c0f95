#include <xgrad/autograd/random.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/philox.hpp>
#include <xgrad/autograd/kernels/shuffle.hpp>
#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

std::uint64_t join(std::uint64_t high, std::uint64_t low) {
  return high << 32 | (low & 0xFFFFFFFFu);
}

// The 128 random bits of the counter (two words of `index`, c2, kind), in two halves.
std::array<std::uint64_t, 2> halves(std::uint64_t key, std::uint64_t index, std::uint32_t c2,
                                    std::uint32_t kind) {
  std::uint64_t c[4][1] = {{index}, {index >> 32}, {c2}, {kind}};
  detail::philox(key, c);
  return {join(c[1][0], c[0][0]), join(c[3][0], c[2][0])};
}

// The last word of a counter is the kind of draw. So different kinds share no random bits, and no
// key of a child stream is equal to a number drawn from its parent.
constexpr std::uint32_t kUniform = 0, kBelow = 1, kNormal = 2, kForkTag = 0xF0F0F0F0u;

// 53 bits, [0, 1).
double to_uniform(std::uint64_t bits) {
  return double(bits >> 11) * 0x1p-53;
}

double to_normal(std::uint64_t first, std::uint64_t second) {
  const double u = (double(first >> 11) + 1) * 0x1p-53;  // (0, 1]
  return std::sqrt(-2 * portable::log(u)) *
         portable::cos(2 * std::numbers::pi * to_uniform(second));
}

using detail::kPhiloxLanes;
using detail::kPhiloxVectors;
using detail::PhiloxLanes;

// 0, 1, 2, ...
PhiloxLanes counted() {
  PhiloxLanes lanes = {};
  for (int i = 0; i < kPhiloxLanes; ++i) lanes[i] = std::uint64_t(i);
  return lanes;
}

// Words of 64 bits from the lower halves of the lanes.
PhiloxLanes join(PhiloxLanes high, PhiloxLanes low) {
  return (low & 0xFFFFFFFFu) | high << 32;
}

// The 128 random bits of N * kPhiloxLanes draws, in two halves.
template <int N>
struct Draws {
  std::uint64_t first[N * kPhiloxLanes], second[N * kPhiloxLanes];
};

template <int N>
Draws<N> draw(std::uint64_t key, std::uint32_t kind, std::uint64_t index) {
  const PhiloxLanes lane = counted();
  PhiloxLanes c[4][N];
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) {
    c[0][v] = lane + (index + std::uint64_t(v * kPhiloxLanes));
    c[1][v] = c[0][v] >> 32;
    c[2][v] = PhiloxLanes{};
    c[3][v] = PhiloxLanes{} + std::uint64_t(kind);
  }
  detail::philox(key, c);
  Draws<N> draws;
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) {
    const PhiloxLanes first = join(c[1][v], c[0][v]), second = join(c[3][v], c[2][v]);
    std::memcpy(draws.first + v * kPhiloxLanes, &first, sizeof first);
    std::memcpy(draws.second + v * kPhiloxLanes, &second, sizeof second);
  }
  return draws;
}

// Writes convert(first 64 bits, second 64 bits) of the draws first ... first + n - 1.
template <class Convert>
std::vector<double> convert_draws(std::uint64_t key, std::uint32_t kind, std::uint64_t first,
                                  std::size_t n, const Convert& convert) {
  std::vector<double> values(n);
  const auto write = [&](const auto& draws, std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      values[at + i] = convert(draws.first[i], draws.second[i]);
    }
  };
  constexpr std::size_t kAtOnce = kPhiloxVectors * kPhiloxLanes;
  std::size_t at = 0;
  for (; at + kAtOnce <= n; at += kAtOnce)
    write(draw<kPhiloxVectors>(key, kind, first + at), at, kAtOnce);
  for (; at < n; at += kPhiloxLanes) {
    write(draw<1>(key, kind, first + at), at, std::min<std::size_t>(n - at, kPhiloxLanes));
  }
  return values;
}

}  // namespace

Rng Rng::operator/(std::uint64_t stream) const {
  return Rng(halves(key_, stream, 0, kForkTag)[0]);
}

Rng Rng::operator/(std::string_view name) const {
  // Each round hashes the length + 1 too, so that no name shares the stream of another name or of a
  // number.
  std::uint64_t key = key_;
  for (std::size_t at = 0; at <= name.size(); at += 8) {  // eight bytes a round
    std::uint64_t bytes = 0;
    for (std::size_t i = at; i < name.size() && i < at + 8; ++i) {
      bytes = (bytes << 8) | std::uint8_t(name[i]);
    }
    key = halves(key, bytes, std::uint32_t(name.size() + 1), kForkTag)[0];
  }
  return Rng(key);
}

std::array<std::uint32_t, 4> Rng::words(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                        std::uint32_t c3) const {
  const auto [low, high] = halves(key_, join(c1, c0), c2, c3);
  return {std::uint32_t(low), std::uint32_t(low >> 32), std::uint32_t(high),
          std::uint32_t(high >> 32)};
}

double Rng::uniform(std::uint64_t index) const {
  return to_uniform(halves(key_, index, 0, kUniform)[0]);
}

std::vector<double> Rng::uniforms(std::size_t n, std::uint64_t first) const {
  return convert_draws(key_, kUniform, first, n,
                       [](std::uint64_t low, std::uint64_t) { return to_uniform(low); });
}

std::uint64_t Rng::below(std::uint64_t bound, std::uint64_t index) const {
  check_shape(bound > 0, "Rng::below: expected bound > 0, got 0");
  const std::uint64_t limit = bound * (~std::uint64_t(0) / bound);
  for (std::uint32_t round = 0;; ++round) {  // rejects the last, incomplete interval
    const std::uint64_t value = halves(key_, index, round, kBelow)[0];
    if (value < limit) return value % bound;
  }
}

double Rng::normal(std::uint64_t index) const {
  const auto [first, second] = halves(key_, index, 0, kNormal);
  return to_normal(first, second);
}

std::vector<double> Rng::normals(std::size_t n) const {
  return convert_draws(key_, kNormal, 0, n, to_normal);
}

std::vector<std::size_t> Rng::permutation(std::size_t n) const {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[below(i, i)]);
  return order;
}

namespace {

// A call of Philox gives a block of eight 16-bit numbers, one per element: element e uses number
// e mod 8 of block e / 8.
constexpr std::size_t kElements = 8;

// Consecutive rows of a dropout mask. Their blocks have consecutive numbers, row after row.
struct MaskRows {
  std::uint64_t key;
  std::uint32_t sample, head, token;
  std::uint32_t blocks;  // blocks per row
  std::uint32_t first;   // in every row: index of its first block in the stream
};
constexpr std::uint32_t kMostBlocks = 1 << 15;  // longer rows are drawn one at a time

// The lanes of a and b, interleaved.
std::array<PhiloxLanes, 2> interleaved(PhiloxLanes a, PhiloxLanes b) {
  PhiloxLanes first = {}, second = {};
  for (int lane = 0; lane < kPhiloxLanes; ++lane) {
    first[lane] = lane / 2 + lane % 2 * kPhiloxLanes;
    second[lane] = first[lane] + kPhiloxLanes / 2;
  }
  return {detail::shuffle(a, b, first), detail::shuffle(a, b, second)};
}

// Writes the 16-bit numbers of N * kPhiloxLanes blocks, from block `first` of the mask on.
template <int N>
void draw_bits(const MaskRows& mask, std::uint32_t first, std::uint16_t* bits) {
  static_assert(std::endian::native == std::endian::little);
  const PhiloxLanes lane = counted();
  const bool one_row = first + N * kPhiloxLanes <= mask.blocks || mask.blocks > kMostBlocks;
  // Divides by `blocks` as a product with 2^32 / blocks, rounded up; exact below 2^32 / blocks.
  const auto inverse = std::uint32_t((std::uint64_t(1) << 32) / mask.blocks) + 1;
  PhiloxLanes c[4][N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    const PhiloxLanes at = lane + std::uint64_t(first + i * kPhiloxLanes);
    PhiloxLanes row = {};
    if (!one_row) row = mask.blocks == 1 ? at : detail::multiply_low(at, inverse) >> 32;
    c[0][i] = at - detail::multiply_low(row, mask.blocks) + std::uint64_t(mask.first);
    c[1][i] = row + std::uint64_t(mask.token);
    c[2][i] = PhiloxLanes{} + std::uint64_t(mask.head);
    c[3][i] = PhiloxLanes{} + std::uint64_t(mask.sample);
  }
  detail::philox(mask.key, c);
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    const auto words = interleaved(join(c[1][i], c[0][i]), join(c[3][i], c[2][i]));
    std::uint16_t* const out = bits + i * kPhiloxLanes * kElements;
    // Two copies, since GCC would do a single one through integer registers.
    std::memcpy(out, &words[0], sizeof words[0]);
    std::memcpy(out + sizeof words[0] / sizeof *out, &words[1], sizeof words[1]);
  }
}

// Turns random numbers into dropout factors of rows with n elements, `stride` apart.
template <class T>
struct Factors {
  T keep;
  std::uint32_t threshold;
  std::size_t n, stride;

  void write(const std::uint16_t* bits, std::size_t count, T* out) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = bits[i] < threshold ? T(0) : keep;
  }

  // Writes the elements of `count` blocks, from block `block` of the row at `out` on.
  void write_blocks(const std::uint16_t* bits, std::size_t count, std::size_t block, T* out) const {
    if (stride == n && n % kElements == 0)
      return write(bits, count * kElements, out + block * kElements);
    for (; count > 0; --count, bits += kElements) {
      const std::size_t at = block * kElements;
      if (at + kElements < n) {
        write(bits, kElements, out + at);
        ++block;
      } else {
        write(bits, n - at, out + at);
        out += stride;
        block = 0;
      }
    }
  }
};

}  // namespace

template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t rows, std::size_t n, T* factors,
                     std::size_t stride, std::size_t first) {
  const auto threshold = std::uint32_t(std::lround(p * 65536));
  const Factors<T> write{threshold == 65536 ? T(0) : T(65536) / T(65536 - threshold), threshold, n,
                         stride};
  MaskRows mask{rng.key(),
                sample,
                head,
                token,
                std::uint32_t((n + kElements - 1) / kElements),
                std::uint32_t(first / kElements)};
  if (mask.blocks > kMostBlocks && rows > 1) {
    for (std::size_t row = 0; row < rows; ++row) {
      dropout_factors(rng, p, sample, head, token + std::uint32_t(row), 1, n,
                      factors + row * stride, stride, first);
    }
    return;
  }
  constexpr std::size_t kAtOnce = kPhiloxVectors * kPhiloxLanes;
  alignas(64) std::uint16_t bits[kAtOnce * kElements];
  std::size_t block = 0;
  for (std::size_t left = rows * mask.blocks; left > 0;) {
    const bool few = left <= kPhiloxLanes;
    const std::size_t count = few ? left : std::min(left, kAtOnce);
    (few ? draw_bits<1> : draw_bits<kPhiloxVectors>)(mask, std::uint32_t(block), bits);
    write.write_blocks(bits, count, block, factors);
    left -= count;
    block += count;
    factors += block / mask.blocks * stride;
    mask.token += std::uint32_t(block / mask.blocks);
    block %= mask.blocks;
  }
}

#define XGRAD_INSTANTIATE(T)                                                                     \
  template void dropout_factors(const Rng&, double, std::uint32_t, std::uint32_t, std::uint32_t, \
                                std::size_t, std::size_t, T*, std::size_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
