// Dataset: numbered examples, each a pure function of (seed, epoch, index).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace xgrad {

/// A split: one of the three disjoint parts of a task's data.
enum class Split { train, validation, test };
/// "train", "validation" or "test".
const char* to_string(Split split);

/// One example: either `ids` or `features`, with either `targets` or `values`.
struct Example {
  std::vector<std::int32_t> ids = {};  ///< token ids, one per token
  std::vector<float> features = {};    ///< one image (H, W, C) or vectors (N, F), row-major
  /// Classes: one per token, one for the sequence, or the sequence to generate.
  std::vector<std::int32_t> targets = {};
  /// Numeric or binary targets: K per token, or K for the sequence; NaN = no target.
  std::vector<float> values = {};
  /// Edges of a graph: pairs of token positions, undirected, in any order.
  std::vector<std::pair<std::int32_t, std::int32_t>> edges = {};
};

struct TaskShape;

/// A sequence of examples.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// The number of examples.
  virtual std::size_t size() const = 0;
  /// Returns an example. Thread-safe. `epoch` changes only augmented training examples. Requires:
  /// index < size().
  virtual Example get(std::uint64_t epoch, std::size_t index) const = 0;
  /// The number of tokens or vectors of an example, 0 for an image; the same in every epoch.
  /// Thread-safe. The default builds the whole example; override it where the length is cheaper to
  /// get. Requires: index < size(), and the shape of the task.
  virtual std::size_t length(std::size_t index, const TaskShape& shape) const;
};

}  // namespace xgrad
