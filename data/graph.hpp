// Random graphs, for tasks whose examples have edges.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/data/synthetic.hpp>

namespace xgrad {

/// Pairs of nodes, each pair undirected.
using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Each pair of nodes with probability degree / (nodes - 1), so that a node has `degree` neighbours
/// in expectation; in lexical order (Erdos and Renyi 1959).
Edges random_edges(const Rng& rng, std::size_t nodes, double degree);

/// "0-1 1-4"
std::string edges_text(const Edges& edges);
/// An edge as edges_text() writes it; nothing of any other word.
std::optional<Edges::value_type> parse_edge(const std::string& word);
/// Tokens as parse_tokens() reads them, then edges as they are written by edges_text(). Throws
/// DataError that starts with the task's name and says which is wrong.
Example parse_graph(const std::string& task, const std::string& line, const TaskShape& shape);

}  // namespace xgrad
