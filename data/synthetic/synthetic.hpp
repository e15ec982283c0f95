// Synthetic tasks: a few functions describe a task, and its examples are generated. Further
// functions draw inputs that many tasks use: random tokens, all equally likely, and random edges
// between them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// TaskEntry::best of a task whose input determines the answer.
inline constexpr const char* kCertain = "accuracy 1, since the input determines the answer";
/// TaskEntry::best of a task that sets Synthetic::best.
inline constexpr const char* kComputed = "computed from the distribution of the task, see below";

/// A sequence of token ids.
using Tokens = std::vector<std::int32_t>;

/// Describes a synthetic task with given options.
struct Synthetic {
  /// The expected score of the best possible model on one input, summed over its targets. For
  /// numeric targets, `loss` is a squared error.
  struct Best {
    double right = 0;    ///< sum of the probabilities of the likeliest answers
    double loss = 0;     ///< lowest expected loss
    double targets = 0;  ///< number of targets
  };

  /// Sizes of inputs and outputs. `vocabulary` and `classes` may be left out if all tokens or
  /// classes have names.
  TaskShape shape = {};
  /// Draws an input from a random stream, with its targets if `solve` is empty.
  std::function<Example(const Rng& rng)> draw = {};
  /// Returns the right targets of an input. Throws DataError if there are none.
  std::function<Tokens(const Tokens& ids)> solve = {};
  /// Adds slots (tokens named kSlot) to an input of `xgrad predict` that has no slots; empty: the
  /// task has no slots.
  std::function<Tokens(Tokens ids)> with_slots = {};
  /// All possible inputs, if few enough to list. Each input then occurs at most once, in one split.
  std::vector<Tokens> inputs = {};
  /// Returns the best score on an input, and ignores its targets. Set it if inputs do not determine
  /// the answer.
  std::function<Best(const Example& input)> best = {};
  /// Returns the best score of a model that sees each token alone, without its position.
  std::function<Best(const Example& input)> best_alone = {};
  /// Returns the split that an input belongs to; empty: split_of(). Set it for splits that hold out
  /// a kind of inputs.
  std::function<Split(const Example& input)> split = {};
  /// Whether inputs are drawn from a continuous distribution. Then no two inputs are equal, and
  /// splits are disjoint without hashing.
  bool is_continuous = false;
};

/// Fills in `task` from `options`. A ConfigError need not name the task: the caller adds the name.
using Describe = std::function<void(const Options& options, Synthetic& task)>;

/// Returns the split that an input belongs to. A hash of the input, independent of the seed, gives
/// a tenth of all inputs to test, a tenth to validation and the rest to train.
Split split_of(const Tokens& ids);
/// split_of() for any input: hashes its tokens, the bits of its numbers, and its edges.
Split split_of(const Example& input);

/// Names of tokens or classes: `count` names that consist of `prefix` and a number, counted from
/// `first`, and after them the names in `more`.
std::vector<std::string> numbered(std::size_t count, const std::vector<std::string>& more = {},
                                  const std::string& prefix = "", std::size_t first = 0);

/// Completes the entry of a task. Example i of a split is a function of (seed, split, i): inputs
/// are drawn until one belongs to the split. So no input occurs in two splits. Adds the options
/// `examples`, `validation` and `test`. A task that already has an option `examples` must set
/// Synthetic::inputs. Then the seed chooses `examples` training inputs from these; 0 chooses all.
TaskEntry synthetic_task(TaskEntry about, Describe describe);

/// Specifies the option `symbols`, with its default and range.
OptionSpec symbols_option(std::int64_t symbols = 10, double min = 1, double max = 1 << 24);
/// Specifies the options `length`, `min_length` (default `shortest`) and `test_length`, and `more`.
std::vector<OptionSpec> length_options(std::int64_t length = 16,
                                       const std::vector<OptionSpec>& more = {},
                                       std::int64_t shortest = 0);
/// Specifies the options of length_options(), and `symbols`.
inline std::vector<OptionSpec> uniform_options() {
  return length_options(16, {symbols_option()});
}

/// Sequence lengths, uniform in [min_length, length]; only `length` if min_length is 0 or missing.
struct Lengths {
  /// Reads the options. Throws ConfigError if the shortest length is above the longest or below
  /// `least`.
  explicit Lengths(const Options& options, std::size_t least = 1);
  /// Draws a length.
  std::size_t draw(const Rng& rng) const;

  std::size_t shortest;  ///< shortest length in tokens
  std::size_t longest;   ///< longest length in tokens
};

/// Makes a task draw inputs by calling `draw` with a random length. Sets TaskShape::max_length.
void draw_lengths(Synthetic& task, const Lengths& lengths,
                  std::function<Example(const Rng& rng, std::size_t length)> draw);

/// Draws tokens uniform in [0, symbols), the same tokens for the same stream.
Tokens random_tokens(const Rng& rng, std::size_t length, std::size_t symbols);

/// Draws the edges of a graph: each pair of nodes is connected with probability degree / (nodes -
/// 1). So a node has `degree` neighbours on average (Erdos and Renyi 1959). Edges are in
/// lexicographic order.
Edges random_edges(const Rng& rng, std::size_t nodes, double degree);

/// Returns the right targets of an input.
using Solve = std::function<Tokens(const Tokens& ids)>;

/// A task with random tokens and a target per token. There are `symbols` symbols and as many
/// classes; if `symbols` is 0, the option `symbols` gives their number. Throws ConfigError when
/// there are too few inputs for three disjoint splits.
Synthetic uniform_tokens(const Options& options, Solve solve, std::size_t symbols = 0);
/// A task with tokens 0 and 1 and one target per sequence, "no" or "yes". Throws as
/// uniform_tokens().
Synthetic uniform_bits(const Options& options, Solve solve);
/// The entry of a task that uniform_tokens() describes. Its options are uniform_options(), unless
/// `about` has options.
TaskEntry uniform_task(TaskEntry about, Solve solve);
/// The entry of a task that uniform_bits() describes, with length_options().
TaskEntry bits_task(TaskEntry about, Solve solve);
/// `task`, but with one target per sequence.
inline Synthetic one_target(Synthetic task) {
  task.shape.output = OutputKind::sequence;
  return task;
}

}  // namespace xgrad
