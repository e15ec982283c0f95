// The tree that fixes the order in which the gradients of shards are added.
#pragma once

#include <vector>

#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// Where a node of the tree, a range of at least two shards, is cut into its two children: the left
/// one has the largest power of two below the size of the node.
///
///     5 shards:  ((0 + 1) + (2 + 3)) + 4
std::size_t cut_of(const Range& node);

/// Whether the tree over shards 0 ... count - 1 has this node.
bool is_node(const Range& range, std::size_t count);

/// The largest nodes inside a range, in order. Their sums are all that others need of the shards in
/// the range.
std::vector<Range> nodes_of(const Range& range, std::size_t count);

}  // namespace xgrad
