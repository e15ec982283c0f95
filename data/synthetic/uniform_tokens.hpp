// Inputs of random tokens, all equally likely, and random edges between them.
#pragma once

#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/data/text/example_text.hpp>

namespace xgrad {

/// Specifies the option `symbols`, with its default and range.
OptionSpec symbols_option(std::int64_t symbols = 10, double min = 1, double max = 1 << 24);
/// Specifies the options `length`, `min_length` and `test_length`, and `more`.
std::vector<OptionSpec> length_options(std::int64_t length = 16,
                                       const std::vector<OptionSpec>& more = {},
                                       std::int64_t shortest = 0);
/// Specifies the options of length_options(), and `symbols`.
inline std::vector<OptionSpec> uniform_options() {
  return length_options(16, {symbols_option()});
}

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

/// Gives inputs of these lengths to a task.
void draw_lengths(Synthetic& task, const Lengths& lengths,
                  std::function<Example(const Rng& rng, std::size_t length)> draw);

/// Draws tokens uniform in [0, symbols), the same ones for the same stream.
Tokens random_tokens(const Rng& rng, std::size_t length, std::size_t symbols);

/// Draws the edges of a graph: each pair of nodes is connected with probability degree / (nodes -
/// 1), so that a node has `degree` neighbours in expectation (Erdos and Renyi 1959). Edges are in
/// lexical order.
Edges random_edges(const Rng& rng, std::size_t nodes, double degree);

/// Returns the right targets of an input.
using Solve = std::function<Tokens(const Tokens& ids)>;

/// A task with random tokens and a target per token, with as many classes as symbols: those of the
/// option `symbols`, unless their number is given. Throws ConfigError when there are too few inputs
/// for three disjoint splits.
Synthetic uniform_tokens(const Options& options, Solve solve, std::size_t symbols = 0);
/// The same with tokens 0 and 1 and one target per sequence, "no" or "yes".
Synthetic uniform_bits(const Options& options, Solve solve);
/// The entries of these tasks, with uniform_options(), unless it has others, and length_options().
TaskEntry uniform_task(TaskEntry about, Solve solve);
TaskEntry bits_task(TaskEntry about, Solve solve);
/// The task with one target per sequence.
inline Synthetic one_target(Synthetic task) {
  task.shape.output = OutputKind::sequence;
  return task;
}

}  // namespace xgrad
