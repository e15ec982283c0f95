// Tasks whose inputs are drawn vectors: a few functions describe one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xgrad/data/synthetic.hpp>

namespace xgrad {

/// What such a task is, once its options are known.
struct DrawnVectors {
  TaskShape shape = {};
  /// An example, its targets included, as a function of a stream.
  std::function<Example(const Rng& rng)> draw = {};
  /// What the best model reaches for one input; of numbers, `loss` is a square error.
  std::function<Synthetic::Best(const std::vector<float>& features)> best = {};
};

/// A task whose example i of a split is a function of (seed, split, i). Inputs have a density, so
/// no two are equal. Has the options `examples`, `validation` and `test` beside those given.
TaskEntry drawn_vectors_task(std::string name, std::string summary, std::string needs,
                             std::vector<OptionSpec> options,
                             std::function<DrawnVectors(const Options& options)> describe);

}  // namespace xgrad
