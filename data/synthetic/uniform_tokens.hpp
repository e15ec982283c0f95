// Inputs of random tokens, all equally likely.
#pragma once

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

/// Specifies the options `length`, `min_length` and `test_length`.
std::vector<OptionSpec> length_options(std::int64_t length = 16);
/// Specifies the options of length_options(), and `symbols`.
std::vector<OptionSpec> uniform_options(std::int64_t length = 16);

/// Sequence lengths, uniform in [min_length, length]; always `length` if min_length is 0 or
/// missing.
struct Lengths {
  /// Reads the options. Throws ConfigError when the shortest length is above the longest, or below
  /// `least`.
  explicit Lengths(const Options& options, std::size_t least = 1);
  /// Draws a length.
  std::size_t draw(const Rng& rng) const;

  std::size_t shortest;  ///< shortest length in tokens
  std::size_t longest;   ///< longest length in tokens
};

/// Draws tokens uniform in [0, symbols), the same ones for the same stream.
Tokens random_tokens(const Rng& rng, std::size_t length, std::uint32_t symbols);

/// A task with random tokens and a target per token, with as many classes as symbols. The caller
/// adds `solve`. Throws ConfigError when there are too few inputs for three disjoint splits.
Synthetic uniform_tokens(const Options& options);
/// The same with this number of symbols, for tasks without the option `symbols`.
Synthetic uniform_tokens(const Options& options, std::uint32_t symbols);
/// The same with tokens 0 and 1 and one target per sequence, "no" or "yes".
Synthetic uniform_bits(const Options& options);

}  // namespace xgrad
