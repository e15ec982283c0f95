// Shards: consecutive parts of a batch, which several processes can share out among them.
#pragma once

#include <cstddef>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

/// One of `count` shards.
struct Shard {
  std::size_t index = 0;  ///< its number, below count
  std::size_t count = 1;  ///< number of shards; 1: the shard is the whole
};

/// The batch of the examples share(batch.size, shard.index, shard.count), padded to the longest of
/// them: as collate() makes it of these examples. `output` is the kind of output of their task.
/// Requires: there are such examples.
Batch cut(const Batch& batch, const Shard& shard, OutputKind output);

/// The number of batches that have examples in a shard.
std::size_t batches_with(const std::vector<Batch>& batches, const Shard& shard);

}  // namespace xgrad
