#include <xgrad/data/tables/packed_examples.hpp>

#include <xgrad/data/task.hpp>

namespace xgrad {

void PackedExamples::add(const Example& example) {
  const std::size_t row = size_ % kRows;
  if (row == 0) blocks_.emplace_back();
  Block& block = blocks_.back();
  block.ids.add(row, example.ids);
  block.targets.add(row, example.targets);
  block.features.add(row, example.features);
  block.values.add(row, example.values);
  block.edges.add(row, example.edges);
  ++size_;
  if (row + 1 < kRows) return;
  block.ids.shrink();
  block.targets.shrink();
  block.features.shrink();
  block.values.shrink();
  block.edges.shrink();
}

Example PackedExamples::get(std::size_t index) const {
  const Block& block = blocks_[index / kRows];
  const std::size_t row = index % kRows;
  return {block.ids.get(row), block.features.get(row), block.targets.get(row),
          block.values.get(row), block.edges.get(row)};
}

std::size_t PackedExamples::length(std::size_t index, const TaskShape& shape) const {
  const Block& block = blocks_[index / kRows];
  const std::size_t row = index % kRows;
  const bool vectors = shape.input == InputKind::vectors;
  return vectors ? block.features.size(row) / shape.features : block.ids.size(row);
}

}  // namespace xgrad
