// Functions that the tasks about brackets share.
#pragma once

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

/// The most kinds of brackets that have a name.
inline constexpr std::uint32_t kBracketKinds = 4;

/// The class of a prefix: brackets are open, all are closed, or one is wrong.
enum BracketStatus { open, closed, wrong };

/// Specifies the options of bracket_status().
inline std::vector<OptionSpec> bracket_options() {
  return length_options(16, {{"kinds", 2, "Number of kinds of brackets.", 1, kBracketKinds}});
}

/// A task with a BracketStatus for each token. Even ids open a bracket; the next id closes it. In
/// half of the sequences that `draw` returns, one bracket is replaced by a random one.
template <class Draw>
Synthetic bracket_status(const Options& options, const Draw& draw, Solve solve) {
  constexpr const char* kBrackets[] = {"(", ")", "[", "]", "{", "}", "<", ">"};
  const auto kinds = std::uint32_t(get_int(options, "kinds"));
  Synthetic task;
  task.shape.class_names = {"open", "closed", "wrong"};
  task.shape.token_names.assign(kBrackets, kBrackets + 2 * kinds);
  draw_lengths(task, Lengths(options), [=](const Rng& rng, std::size_t length) {
    Tokens ids = draw(rng, length, kinds);
    const Rng fault = rng / "fault";
    if (fault.below(2, 0) == 1) {
      ids[fault.below(ids.size(), 1)] = std::int32_t(fault.below(2 * kinds, 2));
    }
    return Example{.ids = std::move(ids)};
  });
  task.solve = std::move(solve);
  return task;
}

}  // namespace xgrad
