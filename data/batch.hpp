// Batches: several examples stacked into tensors and padded to the longest. Shards: consecutive
// parts of a batch, which several processes can divide among themselves.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Class id of a target to ignore: padding, or a position without a label.
inline constexpr std::int32_t kIgnore = -100;

/// A padded batch: the inputs of a model and their targets.
struct Batch {
  std::size_t size = 0;    ///< B, the number of examples
  Ids ids;                 ///< (B, N) token ids; 0 in padding
  Tensor<float> features;  ///< images (B, H, W, C) or vectors (B, N, F); 0 in padding
  /// (B, N), 1 = not padding; null when all examples have N tokens.
  std::shared_ptr<const Mask> mask;
  /// Class ids: (B, N), (B) or, for generated outputs of up to M ids, (B, M); kIgnore = no target
  Ids targets;
  Tensor<float> values;  ///< numeric or binary targets, (B, N, K) or (B, K); 0 without a target
  std::shared_ptr<const Mask> valid;  ///< 1 where `values` has a target; null when all do
  /// Graphs: (B, N, N), 1 for edges and on the diagonal, 0 in padding. Otherwise null.
  std::shared_ptr<const Mask> adjacency;
};

/// The number of tokens or vectors in an example; 0 for an image.
std::size_t length_of(const Example& example, const TaskShape& shape);

/// Throws DataError unless the example fits the shape. The message names the example by `number`.
/// Checks the range of tokens, targets and edges; the number of tokens, pixels, features and
/// targets; and that numbers are finite (NaN in `values` is a missing target). Examples may lack
/// targets.
void check_example(const Example& example, const TaskShape& shape, std::size_t number);

/// Stacks examples into a batch. Requires: each example passed check_example(). Throws DataError
/// when `examples` is empty.
Batch collate(const std::vector<Example>& examples, const TaskShape& shape);

/// One of `count` shards.
struct Shard {
  std::size_t index = 0;  ///< its number, below count
  std::size_t count = 1;  ///< number of shards; 1: the shard is the whole batch
};

/// Returns a shard of a batch: the Batch that collate() would make from the shard's examples. Their
/// range in `batch` is share(batch.size, shard.index, shard.count), see range.hpp. `output` is the
/// kind of output of the task. Requires: the shard has at least one example.
Batch cut(const Batch& batch, const Shard& shard, OutputKind output);

/// The number of batches in which the shard has at least one example.
std::size_t batches_with(const std::vector<Batch>& batches, const Shard& shard);

}  // namespace xgrad
