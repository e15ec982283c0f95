#include <xgrad/data/synthetic/uniform_tokens.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/portable_math.hpp>

namespace xgrad {

Lengths::Lengths(const Options& options, std::size_t least)
    : shortest(0), longest(get_size(options, "length")) {
  if (options.contains("min_length")) shortest = get_size(options, "min_length");
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

OptionSpec symbols_option(std::int64_t symbols, double min, double max) {
  return {"symbols", symbols, "Number of different tokens.", min, max};
}

std::vector<OptionSpec> length_options(std::int64_t length, const std::vector<OptionSpec>& more) {
  std::vector<OptionSpec> table = {
      {"length", length, "Tokens in the longest sequence.", 1, 65536},
      {"min_length", 0, "Tokens in the shortest sequence; 0: as length.", 0, 65536},
      {"test_length", 0,
       "Tests on longer sequences, of length + 1 to this many tokens; 0: lengths as in training.",
       0, 65536},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

void draw_lengths(Synthetic& task, const Lengths& lengths,
                  std::function<Example(const Rng&, std::size_t)> draw) {
  task.shape.max_length = lengths.longest;
  task.draw = [lengths, draw = std::move(draw)](const Rng& rng) {
    return draw(rng, lengths.draw(rng));
  };
}

Tokens random_tokens(const Rng& rng, std::size_t length, std::size_t symbols) {
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

Edges random_edges(const Rng& rng, std::size_t nodes, double degree) {
  constexpr std::size_t kAtOnce = 1024;
  const std::size_t pairs = nodes * (nodes - 1) / 2;
  std::vector<double> uniforms;
  Edges edges;
  edges.reserve(nodes * std::size_t(degree));
  std::size_t pair = 0;
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = a + 1; b < nodes; ++b, ++pair) {
      const std::size_t at = pair % kAtOnce;
      if (at == 0) uniforms = rng.uniforms(std::min(kAtOnce, pairs - pair), pair);
      if (uniforms[at] * double(nodes - 1) < degree) edges.emplace_back(a, b);
    }
  }
  return edges;
}

Synthetic uniform_tokens(const Options& options, Solve solve, std::size_t symbols) {
  const Lengths lengths(options);
  if (symbols == 0) symbols = get_size(options, "symbols");
  // With this many inputs, a split is empty with probability 0.9^1000 = 1e-46.
  constexpr double kFewestInputs = 1000;
  double inputs = 0;
  for (std::size_t n = lengths.shortest; n <= lengths.longest && inputs < kFewestInputs; ++n) {
    inputs += portable::pow(double(symbols), double(n));
  }
  check<ConfigError>(inputs >= kFewestInputs, "there are only ", inputs,
                     " different inputs; three disjoint splits need ", kFewestInputs,
                     options.contains("symbols") ? ": raise length or symbols" : ": raise length");
  Synthetic task;
  task.shape.vocabulary = task.shape.classes = symbols;
  draw_lengths(task, lengths, [symbols](const Rng& rng, std::size_t length) {
    return Example{.ids = random_tokens(rng, length, symbols)};
  });
  task.solve = std::move(solve);
  return task;
}

Synthetic uniform_bits(const Options& options, Solve solve) {
  Synthetic task = one_target(uniform_tokens(options, std::move(solve), 2));
  task.shape.class_names = {"no", "yes"};
  return task;
}

}  // namespace xgrad
