// Edges of a graph, and how they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xgrad {

/// Pairs of nodes, each pair undirected.
using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// "0-1 1-4"
std::string edges_text(const Edges& edges);

/// An edge as edges_text() writes it; nothing for any other word.
std::optional<Edges::value_type> parse_edge(const std::string& word);

}  // namespace xgrad
