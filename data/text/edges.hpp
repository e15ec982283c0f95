// Edges of a graph and their text format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xgrad {

/// Pairs of nodes; edges are undirected.
using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Formats edges: "0-1 1-4".
std::string edges_text(const Edges& edges);

/// Parses one edge in the format of edges_text(); nothing for any other word.
std::optional<Edges::value_type> parse_edge(const std::string& word);

}  // namespace xgrad
