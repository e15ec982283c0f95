// Random numbers without state: a value is a function of a key and a counter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xgrad {

/// A stream of random numbers that remembers nothing: Philox4x32-10 (Salmon et al. 2011).
///
/// The key is a hash of a seed and a path of names and numbers (`rng / "dropout" / step`); the
/// counter is given at every call. So any number can be computed again, in any order, on any
/// thread.
class Rng {
 public:
  /// The stream of a seed.
  explicit Rng(std::uint64_t seed) : key_(seed) {}

  /// An independent stream; the same path always leads to the same stream.
  Rng operator/(std::uint64_t stream) const;
  /// The stream of a name.
  Rng operator/(std::string_view name) const;

  /// Four uniform 32-bit words for a counter.
  std::array<std::uint32_t, 4> words(std::uint32_t c0, std::uint32_t c1 = 0, std::uint32_t c2 = 0,
                                     std::uint32_t c3 = 0) const;

  /// Uniform in [0, 1), 53 bits; the index-th of this stream.
  double uniform(std::uint64_t index) const;
  /// Uniform integer in [0, bound), without bias. Throws ShapeError when bound is 0.
  std::uint64_t below(std::uint64_t bound, std::uint64_t index) const;
  /// Standard normal (Box and Muller); the index-th of this stream.
  double normal(std::uint64_t index) const;
  /// The n from uniform(first) on, several at a time.
  std::vector<double> uniforms(std::size_t n, std::uint64_t first = 0) const;
  /// The first n of normal(0), normal(1), ...
  std::vector<double> normals(std::size_t n) const;
  /// A random order of 0 ... n-1 (Fisher and Yates).
  std::vector<std::size_t> permutation(std::size_t n) const;

  /// What tells this stream from others.
  std::uint64_t key() const { return key_; }

 private:
  std::uint64_t key_;
};

/// Writes the keep-mask of a dropout as factors: 0 with probability p, else 1 / (1 - p), both exact
/// for p rounded to a multiple of 2^-16.
///
/// The n elements from `first`, a multiple of 8, of `rows` rows (sample, head, token), (sample,
/// head, token + 1), ... of the stream `rng`; those of a row begin `stride` after those of the row
/// before. The mask of an element does not depend on what else is asked for.
///
/// A stream given to dropout_factors() must be drawn from by nothing else, not even by `/`. The
/// last word of its counters is the sample; in those of every other draw it is a tag that tells
/// kinds of draws apart. So the mask of sample 0 holds the bits of uniform(), and that of sample 1
/// the bits of below().
template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t rows, std::size_t n, T* factors,
                     std::size_t stride, std::size_t first = 0);

/// The same for one row.
template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t n, T* factors) {
  dropout_factors(rng, p, sample, head, token, 1, n, factors, n);
}

}  // namespace xgrad
