// Names of the rows and columns that show the tokens of an example.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/inspect/attention_study.hpp>

namespace xgrad::commands {

/// The names of `rows` positions: the example's tokens, after [class] if there is one row more;
/// empty if the example has no tokens.
std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows);

/// The names of the queries and the keys of an attention map; empty where they are unknown.
struct MapNames {
  std::vector<std::string> rows, columns;
};

/// Names the rows and columns of a map of an example. In a decoder, a row is the output that the
/// model predicts there. In its self-attention, a column is the output that it reads there, after
/// "[begin]".
MapNames map_names(const AttentionMap& map, const Example& example, const TaskShape& shape);

}  // namespace xgrad::commands
