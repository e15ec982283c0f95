// Unknown tokens: how training rows teach a model what to make of tokens that they do not have.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The examples of a data set with some of their tokens replaced by the unknown one, id 0, others
/// in each epoch. Targets stay, as do hidden tokens, kMaskId, where `masked`.
///
/// A token that comes n times in the examples is replaced with probability max(rate, 1 / (2n)).
/// Rare tokens are replaced most often, because unknown ones resemble them. `rate` makes sure that
/// the unknown token is trained where no token is rare, as with characters.
///
/// A function of (seed, epoch, index) alone. `counts` has n by token id.
std::unique_ptr<Dataset> unknown_dataset(std::unique_ptr<Dataset> examples,
                                         std::vector<std::size_t> counts, double rate,
                                         std::uint64_t seed, bool masked);

/// The row of `unknown`, the rate, 0.01 by default; 0: nothing is replaced.
OptionSpec unknown_option();

}  // namespace xgrad
