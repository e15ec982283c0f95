// Functions that the tasks about brackets share.
#pragma once

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

/// The most kinds of brackets that have a name.
inline constexpr std::uint32_t kBracketKinds = 4;
/// Names of token ids: even ids open a bracket; the next id closes it.
inline constexpr const char* kBrackets[] = {"(", ")", "[", "]", "{", "}", "<", ">"};

/// The class of a prefix: brackets are open, all are closed, or one is wrong.
enum BracketStatus { open, closed, wrong };

/// A task with a BracketStatus for each token; the caller adds `draw` and `solve`.
inline Synthetic bracket_status(const Lengths& lengths, std::uint32_t kinds) {
  Synthetic task;
  task.shape.vocabulary = 2 * kinds;
  task.shape.max_length = lengths.longest;
  task.shape.classes = 3;
  task.shape.class_names = {"open", "closed", "wrong"};
  task.shape.token_names.assign(kBrackets, kBrackets + 2 * kinds);
  return task;
}

/// In half of the sequences, replaces one bracket by a random one.
inline void break_half(Tokens& ids, const Rng& fault, std::uint32_t kinds) {
  if (fault.below(2, 0) == 1) {
    ids[fault.below(ids.size(), 1)] = std::int32_t(fault.below(2 * kinds, 2));
  }
}

}  // namespace xgrad
