// Random graphs, for tasks whose examples have edges.
#pragma once

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/text/edges.hpp>

namespace xgrad {

/// Draws random edges: each pair of nodes is connected with probability degree / (nodes - 1), so
/// that a node has `degree` neighbours in expectation (Erdos and Renyi 1959). Edges are in lexical
/// order.
Edges random_edges(const Rng& rng, std::size_t nodes, double degree);

}  // namespace xgrad
