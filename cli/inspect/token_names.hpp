// Names of the rows and columns that show the tokens of an example.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad::commands {

/// The names of `rows` positions: the example's tokens, after [class] if there is one row more;
/// empty if the example has no tokens.
std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows);

}  // namespace xgrad::commands
