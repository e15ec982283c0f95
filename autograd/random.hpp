// Random numbers without state: each number is a function of a key and a counter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xgrad {

/// A stateless stream of random numbers: Philox4x32-10 (Salmon et al. 2011).
///
/// The key is the seed or, for a stream below it, a hash of the seed and a path of names and
/// numbers (`rng / "dropout" / step`); every call passes the counter. So any number can be computed
/// again, in any order, on any thread.
class Rng {
 public:
  /// The stream of a seed.
  explicit Rng(std::uint64_t seed) : key_(seed) {}

  /// An independent stream for a number; the same path always gives the same stream.
  Rng operator/(std::uint64_t stream) const;
  /// An independent stream for a name.
  Rng operator/(std::string_view name) const;

  /// Four uniform 32-bit words for a counter.
  std::array<std::uint32_t, 4> words(std::uint32_t c0, std::uint32_t c1 = 0, std::uint32_t c2 = 0,
                                     std::uint32_t c3 = 0) const;

  /// The index-th uniform number of this stream, in [0, 1), with 53 bits.
  double uniform(std::uint64_t index) const;
  /// The index-th uniform integer in [0, bound), without bias. Throws ShapeError when bound is 0.
  std::uint64_t below(std::uint64_t bound, std::uint64_t index) const;
  /// The index-th standard normal number of this stream (Box and Muller).
  double normal(std::uint64_t index) const;
  /// uniform(first) ... uniform(first + n - 1), computed several at a time.
  std::vector<double> uniforms(std::size_t n, std::uint64_t first = 0) const;
  /// normal(0) ... normal(n - 1), computed several at a time.
  std::vector<double> normals(std::size_t n) const;
  /// A random order of 0 ... n-1 (Fisher and Yates).
  std::vector<std::size_t> permutation(std::size_t n) const;

  /// The hash of the seed and the path.
  std::uint64_t key() const { return key_; }

 private:
  std::uint64_t key_;
};

/// Writes dropout factors: 0 with probability p, else 1 / (1 - p). p is first rounded to a multiple
/// of 2^-16.
///
/// Computes `rows` rows: (sample, head, token), (sample, head, token + 1), ... In each row it
/// computes n elements, starting with element `first`, a multiple of 8. Writes row i to factors + i
/// * stride. A factor depends only on `rng`, p and the element's sample, head, token and index in
/// the row.
///
/// Draw nothing else from a stream given to dropout_factors(), and derive no stream from it by `/`.
/// dropout_factors() passes the sample as the last word of the counter. Other draws pass the kind
/// of draw there: 0 for uniform(), 1 for below(), 2 for normal(). So the mask of sample 0 would
/// have the same bits as uniform(), the mask of sample 1 those of below(), and so on.
template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t rows, std::size_t n, T* factors,
                     std::size_t stride, std::size_t first = 0);

/// dropout_factors() for one row.
template <class T>
void dropout_factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                     std::uint32_t token, std::size_t n, T* factors) {
  dropout_factors(rng, p, sample, head, token, 1, n, factors, n);
}

}  // namespace xgrad
