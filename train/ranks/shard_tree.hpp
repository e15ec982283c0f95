// The tree that fixes the order in which the gradients of shards are added.
#pragma once

#include <bit>
#include <vector>

#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// Returns the first shard of the right child of a node, which has at least two shards. The size of
/// the left child is the largest power of two below that of the node.
///
///     5 shards:  ((0 + 1) + (2 + 3)) + 4
inline std::size_t cut_of(const Range& node) {
  return node.begin + std::bit_floor(node.size() - 1);
}

/// The largest nodes inside a range, in order, of a tree or of the part of it below `node`. Their
/// sums are all that others need of the shards in the range.
inline std::vector<Range> nodes_of(const Range& range, const Range& node) {
  if (range.end <= node.begin || node.end <= range.begin) return {};
  if (range.begin <= node.begin && node.end <= range.end) return {node};
  std::vector<Range> nodes = nodes_of(range, {node.begin, cut_of(node)});
  const std::vector<Range> right = nodes_of(range, {cut_of(node), node.end});
  nodes.insert(nodes.end(), right.begin(), right.end());
  return nodes;
}

/// Whether the tree over shards 0 ... count - 1 has this node.
inline bool is_node(const Range& range, std::size_t count) {
  return nodes_of(range, {0, count}).size() == 1;
}

}  // namespace xgrad
