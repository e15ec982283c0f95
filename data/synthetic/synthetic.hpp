// Synthetic tasks: tasks whose examples are generated, described by a few functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xgrad/autograd/random.hpp>
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

  /// Sizes of inputs and outputs. Where all tokens or classes have names, these give the number.
  TaskShape shape = {};
  /// Draws an input from a random stream, with its targets if `solve` is empty.
  std::function<Example(const Rng& rng)> draw = {};
  /// Returns the right targets of an input. Throws DataError if it has none.
  std::function<Tokens(const Tokens& ids)> solve = {};
  /// Adds the tokens named kSlot to an input of `xgrad predict` that has none; empty: the task has
  /// no slots.
  std::function<Tokens(Tokens ids)> with_slots = {};
  /// All possible inputs, if they are few enough to list: each split then has its own ones once.
  std::vector<Tokens> inputs = {};
  /// Returns the best score on an input; set it if inputs do not determine the answer. Ignores
  /// targets.
  std::function<Best(const Example& input)> best = {};
  /// The same for models that see each token alone, without its position.
  std::function<Best(const Example& input)> best_alone = {};
  /// Returns the split that an input belongs to; empty: split_of(). Set it for splits that hold out
  /// a kind of inputs.
  std::function<Split(const Example& input)> split = {};
  /// Whether inputs are drawn from a continuous distribution. No two are equal then, so splits are
  /// disjoint without hashing.
  bool is_continuous = false;
};

/// Makes the description from the options of a task. Its errors need not name the task.
using Describe = std::function<Synthetic(const Options& options)>;

/// Returns the split that an input belongs to. A hash of the input, independent of the seed, gives
/// a tenth of all inputs to test, a tenth to validation and the rest to train.
Split split_of(const Tokens& ids);
/// The same for any input: hashes its tokens, the bits of its numbers, and its edges.
Split split_of(const Example& input);

/// The names of `count` tokens or classes: `prefix` and a number, the first of which is `first`.
/// After them come `more`.
std::vector<std::string> numbered(std::size_t count, const std::vector<std::string>& more = {},
                                  const std::string& prefix = "", std::size_t first = 0);

/// Completes the entry of a task whose example i of a split is a function of (seed, split, i): the
/// first draw for i whose input belongs to the split. So no input occurs in two splits. Adds the
/// options `examples`, `validation` and `test`, unless the task has an option `examples`: it then
/// sets Synthetic::inputs, of which the seed chooses so many for training, or all if it is 0.
TaskEntry synthetic_task(TaskEntry about, Describe describe);

}  // namespace xgrad
