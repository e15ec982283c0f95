#include <xgrad/autograd/random.hpp>

#include <Random123/philox.h>

#include <cmath>
#include <numbers>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint32_t c0, std::uint32_t c1,
                                    std::uint32_t c2, std::uint32_t c3) {
  const r123::Philox4x32::ctr_type counter = {{c0, c1, c2, c3}};
  const r123::Philox4x32::key_type words = {{std::uint32_t(key), std::uint32_t(key >> 32)}};
  const auto result = r123::Philox4x32()(counter, words);
  return {result[0], result[1], result[2], result[3]};
}

std::uint64_t join(std::uint32_t high, std::uint32_t low) {
  return (std::uint64_t(high) << 32) | low;
}

}  // namespace

// Counters of derived keys carry a tag in the last word that no draw uses, so that a child's key
// never equals a number drawn from its parent.
constexpr std::uint32_t kForkTag = 0xF0F0F0F0u;

Rng Rng::operator/(std::uint64_t stream) const {
  const auto w = philox(key_, std::uint32_t(stream), std::uint32_t(stream >> 32), 0, kForkTag);
  return Rng(join(w[1], w[0]));
}

Rng Rng::operator/(std::string_view name) const {
  // The length, plus one, in each round: no name leads to another's stream or to that of a number.
  std::uint64_t key = key_;
  for (std::size_t at = 0; at <= name.size(); at += 8) {  // eight bytes a round
    std::uint64_t bytes = 0;
    for (std::size_t i = at; i < name.size() && i < at + 8; ++i) {
      bytes = (bytes << 8) | std::uint8_t(name[i]);
    }
    const auto w = philox(key, std::uint32_t(bytes), std::uint32_t(bytes >> 32),
                          std::uint32_t(name.size() + 1), kForkTag);
    key = join(w[1], w[0]);
  }
  return Rng(key);
}

std::array<std::uint32_t, 4> Rng::words(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                        std::uint32_t c3) const {
  return philox(key_, c0, c1, c2, c3);
}

double Rng::uniform(std::uint64_t index) const {
  const auto w = philox(key_, std::uint32_t(index), std::uint32_t(index >> 32), 0, 0);
  return double(join(w[1], w[0]) >> 11) * 0x1p-53;
}

std::uint64_t Rng::below(std::uint64_t bound, std::uint64_t index) const {
  check_shape(bound > 0, "Rng::below: the bound is 0");
  const std::uint64_t limit = bound * (~std::uint64_t(0) / bound);
  for (std::uint32_t round = 0;; ++round) {  // reject the last, incomplete interval
    const auto w = philox(key_, std::uint32_t(index), std::uint32_t(index >> 32), round, 1);
    const std::uint64_t value = join(w[1], w[0]);
    if (value < limit) return value % bound;
  }
}

double Rng::normal(std::uint64_t index) const {
  const auto w = philox(key_, std::uint32_t(index), std::uint32_t(index >> 32), 0, 2);
  const double u = (double(join(w[1], w[0]) >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double v = double(join(w[3], w[2]) >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

std::vector<std::size_t> Rng::permutation(std::size_t n) const {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[below(i, i)]);
  return order;
}

// One call of Philox decides eight elements, sixteen bits each: element e is half (e mod 8) of
// block e / 8.
template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t n, T* factors) {
  const auto threshold = std::uint32_t(std::lround(p * 65536));
  const T keep = threshold == 65536 ? T(0) : T(65536) / T(65536 - threshold);
  for (std::size_t e = 0; e < n; e += 8) {
    const auto w = rng.words(std::uint32_t(e / 8), token, head, sample);
    for (std::size_t half = 0; half < 8 && e + half < n; ++half) {
      const std::uint32_t bits = (w[half / 2] >> (16 * (half % 2))) & 0xFFFFu;
      factors[e + half] = bits < threshold ? T(0) : keep;
    }
  }
}

#define XGRAD_INSTANTIATE(T)                                                                     \
  template void dropout_factors(const Rng&, double, std::uint32_t, std::uint32_t, std::uint32_t, \
                                std::size_t, T*);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
