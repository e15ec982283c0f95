// Tasks on random token sequences whose right answer is a function of the input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The right answer to an input: a target for each token.
using Oracle = std::vector<std::int32_t> (*)(const std::vector<std::int32_t>& ids);

/// The one split that an input may appear in: a hash of the input, the same for any seed, gives a
/// tenth of all inputs to test, a tenth to validation and the rest to train.
Split split_of(const std::vector<std::int32_t>& ids);

/// A task whose tokens are uniform in [0, symbols) and whose lengths are uniform in [min_length,
/// length].
///
/// Example i of a split is a function of (seed, split, i): the first draw for i whose input belongs
/// to the split. So no input of one split is ever seen in another.
TaskEntry token_task(std::string name, std::string summary, Oracle oracle);

}  // namespace xgrad
