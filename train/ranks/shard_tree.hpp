// The tree that fixes the order in which the gradients of shards are added.
#pragma once

#include <vector>

#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// Returns the first shard of the right child of a node, which has at least two shards. The size of
/// the left child is the largest power of two below that of the node.
///
///     5 shards:  ((0 + 1) + (2 + 3)) + 4
std::size_t cut_of(const Range& node);

/// Whether the tree over shards 0 ... count - 1 has this node.
bool is_node(const Range& range, std::size_t count);

/// The largest nodes inside a range, in order. Their sums are all that others need of the shards in
/// the range.
std::vector<Range> nodes_of(const Range& range, std::size_t count);

}  // namespace xgrad
