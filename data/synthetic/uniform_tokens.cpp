#include <xgrad/data/synthetic/uniform_tokens.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

// With this many inputs, a split is empty with probability 0.9^1000 = 1e-46.
constexpr std::uint64_t kFewestInputs = 1000;

/// Returns the number of inputs, or `enough` if there are more.
std::uint64_t count_inputs(std::size_t min_length, std::size_t max_length, std::uint64_t symbols,
                           std::uint64_t enough) {
  std::uint64_t sum = 0, power = 1;
  for (std::size_t length = 1; length <= max_length; ++length) {
    power = std::min(enough, power * symbols);
    if (length >= min_length) sum += power;
    if (sum >= enough) return enough;
  }
  return sum;
}

}  // namespace

Lengths::Lengths(const Options& options, std::size_t least)
    : shortest(0), longest(std::size_t(get_int(options, "length"))) {
  if (options.contains("min_length")) shortest = std::size_t(get_int(options, "min_length"));
  if (shortest == 0) shortest = longest;
  check<ConfigError>(shortest <= longest, "min_length is ", shortest, ", must be at most length, ",
                     longest);
  check<ConfigError>(shortest >= least, "sequences of ", shortest,
                     " tokens are too short; they need ", least);
}

std::size_t Lengths::draw(const Rng& rng) const {
  if (shortest == longest) return longest;
  return shortest + (rng / "length").below(longest - shortest + 1, 0);
}

std::vector<OptionSpec> length_options(std::int64_t length) {
  return {
      {"length", length, "Tokens in the longest sequence.", 1, 65536},
      {"min_length", 0, "Tokens in the shortest sequence; 0: as length.", 0, 65536},
      {"test_length", 0,
       "Tests on longer sequences, of length + 1 to this many tokens; 0: lengths as in training.",
       0, 65536},
  };
}

std::vector<OptionSpec> uniform_options(std::int64_t length) {
  auto table = length_options(length);
  table.push_back({"symbols", 10, "Number of different tokens.", 1, 1 << 24});
  return table;
}

Tokens random_tokens(const Rng& rng, std::size_t length, std::uint32_t symbols) {
  Tokens ids(length);
  for (std::size_t token = 0; token < length; token += 4) {
    const auto words = rng.words(std::uint32_t(token / 4));
    for (std::size_t i = 0; i < 4 && token + i < length; ++i) {
      // Uniform, with a bias of at most symbols / 2^32.
      ids[token + i] = std::int32_t(std::uint64_t(words[i]) * symbols >> 32);
    }
  }
  return ids;
}

Synthetic uniform_tokens(const Options& options, std::uint32_t symbols) {
  const Lengths lengths(options);
  const std::uint64_t inputs =
      count_inputs(lengths.shortest, lengths.longest, symbols, kFewestInputs);
  check<ConfigError>(inputs >= kFewestInputs, "there are only ", inputs,
                     " different inputs; three disjoint splits need ", kFewestInputs,
                     options.contains("symbols") ? ": raise length or symbols" : ": raise length");
  Synthetic task;
  task.shape.vocabulary = task.shape.classes = symbols;
  task.shape.max_length = lengths.longest;
  task.draw = [lengths, symbols](const Rng& rng) {
    return Example{random_tokens(rng, lengths.draw(rng), symbols), {}, {}};
  };
  return task;
}

Synthetic uniform_tokens(const Options& options) {
  return uniform_tokens(options, std::uint32_t(get_int(options, "symbols")));
}

Synthetic uniform_bits(const Options& options) {
  Synthetic task = uniform_tokens(options, 2);
  task.shape.output = OutputKind::sequence;
  task.shape.class_names = {"no", "yes"};
  return task;
}

}  // namespace xgrad
