// Inputs that are random tokens, all equally likely.
#pragma once

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

/// The options `length`, `min_length` and `test_length`.
std::vector<OptionSpec> length_options(std::int64_t length = 16);
/// Those and `symbols`.
std::vector<OptionSpec> uniform_options(std::int64_t length = 16);

/// Lengths uniform in [min_length, length]; all of full length where min_length is 0 or missing.
struct Lengths {
  /// Throws ConfigError when the shortest is longer than the longest, or has fewer than `least`.
  explicit Lengths(const Options& options, std::size_t least = 1);
  /// One of them.
  std::size_t draw(const Rng& rng) const;

  std::size_t shortest;  ///< tokens
  std::size_t longest;   ///< tokens
};

/// Tokens uniform in [0, symbols); the same stream gives the same ones.
Tokens random_tokens(const Rng& rng, std::size_t length, std::uint32_t symbols);

/// A task without an answer yet: random tokens, and a target for each, with as many classes as
/// symbols. Throws ConfigError when the inputs are too few for three disjoint splits.
Synthetic uniform_tokens(const Options& options);
/// The same of 0s and 1s, with a class for the sequence: no or yes.
Synthetic uniform_bits(const Options& options);

}  // namespace xgrad
