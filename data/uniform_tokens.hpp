// Inputs that are random tokens, all equally likely.
#pragma once

#include <xgrad/data/synthetic.hpp>

namespace xgrad {

/// The options of uniform_tokens(), without `symbols` where a task fixes them.
std::vector<OptionSpec> uniform_options(bool symbols = true);

/// A task without an answer yet: tokens uniform in [0, symbols), lengths uniform in [min_length,
/// length], and a target for each token, with as many classes as symbols. `symbols` 0: of the
/// options. Throws ConfigError when the inputs are too few for three disjoint splits.
Synthetic uniform_tokens(const Options& options, std::uint32_t symbols = 0);

/// Tokens uniform in [0, symbols); the same stream gives the same ones.
Tokens random_tokens(const Rng& rng, std::size_t length, std::uint32_t symbols);

}  // namespace xgrad
