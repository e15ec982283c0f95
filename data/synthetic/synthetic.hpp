// Tasks whose examples are made up: a few functions describe one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Token ids.
using Tokens = std::vector<std::int32_t>;

/// What such a task is, once its options are known.
struct Synthetic {
  /// What the best model reaches for one input: sums over its targets, in expectation. Of numbers,
  /// `loss` is a square error.
  struct Best {
    double right = 0;    ///< probability of the likeliest answers
    double loss = 0;     ///< the least
    double targets = 0;  ///< how many
  };

  TaskShape shape = {};  ///< of inputs and outputs
  /// An input as a function of a stream; its targets too where `solve` is empty.
  std::function<Example(const Rng& rng)> draw = {};
  /// The right answer to an input. Throws DataError for one that has none.
  std::function<Tokens(const Tokens& ids)> solve = {};
  /// Every input there is, where a split holds each of its own once instead of draws.
  std::vector<Tokens> inputs = {};
  /// Where an input does not fix the answer. Reads the input alone.
  std::function<Best(const Example& input)> best = {};
  /// The same for models that see each token by itself, without its place.
  std::function<Best(const Example& input)> best_alone = {};
  /// Inputs have a density, so no two are equal and splits are disjoint without a hash.
  bool is_continuous = false;
};

/// Makes a task from its options. Errors need not name the task.
using Describe = std::function<Synthetic(const Options& options)>;

/// The one split that an input may appear in: a hash of the input, the same for any seed, gives a
/// tenth of all inputs to test, a tenth to validation and the rest to train.
Split split_of(const Tokens& ids);
/// That of an input of any kind: of its tokens, the bits of its numbers, and its edges.
Split split_of(const Example& input);

/// A task whose example i of a split is a function of (seed, split, i): the first draw for i whose
/// input belongs to the split. So no input of one split is ever seen in another. Has the options
/// `examples`, `validation` and `test` beside those given.
TaskEntry synthetic_task(std::string name, std::string summary, std::string needs,
                         std::vector<OptionSpec> options, Describe describe);

/// A task whose inputs are few enough to list: each split holds its own once. The seed chooses the
/// training examples where `examples`, the option beside those given, leaves some out.
TaskEntry listed_task(std::string name, std::string summary, std::string needs,
                      std::vector<OptionSpec> options, Describe describe);

}  // namespace xgrad
