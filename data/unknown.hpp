// Unknown tokens: trains `<unk>` by replacing some training tokens with it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Returns a data set that replaces some tokens by kUnknownId, different ones in each epoch. Keeps
/// the targets; if `special`, it keeps the token 1 too, which is kMask or kEnd.
///
/// A token that occurs n times in the examples is replaced with probability max(rate, 1 / (2n)).
/// Rare tokens are replaced most often because unknown tokens resemble them. `rate` ensures that
/// `<unk>` is trained even if no token is rare, as with characters.
///
/// Each example is a function of (seed, epoch, index). `counts` gives n by token id.
std::unique_ptr<Dataset> unknown_dataset(std::unique_ptr<Dataset> examples,
                                         std::vector<std::size_t> counts, double rate,
                                         std::uint64_t seed, bool special);

/// The training examples with all their tokens, without the replacements of unknown_dataset(), for
/// rules that count.
std::unique_ptr<Dataset> whole_training_set(const Task& task);

/// The option `unknown`: the rate, 0.01 by default; 0 replaces nothing.
OptionSpec unknown_option();

}  // namespace xgrad
