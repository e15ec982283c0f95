#include <xgrad/train/ranks/shard_tree.hpp>

#include <bit>

namespace xgrad {

namespace {

void add_nodes(const Range& node, const Range& range, std::vector<Range>& nodes) {
  if (range.end <= node.begin || node.end <= range.begin) return;
  if (range.begin <= node.begin && node.end <= range.end) {
    nodes.push_back(node);
    return;
  }
  const std::size_t cut = cut_of(node);
  add_nodes({node.begin, cut}, range, nodes);
  add_nodes({cut, node.end}, range, nodes);
}

}  // namespace

std::size_t cut_of(const Range& node) {
  return node.begin + std::bit_floor(node.size() - 1);
}

bool is_node(const Range& range, std::size_t count) {
  const std::vector<Range> nodes = nodes_of(range, count);
  return nodes.size() == 1;
}

std::vector<Range> nodes_of(const Range& range, std::size_t count) {
  std::vector<Range> nodes;
  add_nodes({0, count}, range, nodes);
  return nodes;
}

}  // namespace xgrad
