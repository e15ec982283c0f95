// A data set: numbered examples, each a pure function of (seed, epoch, index).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace xgrad {

/// The three disjoint parts of a task's data.
enum class Split { train, validation, test };
/// train, validation or test.
const char* to_string(Split split);

/// One example. Either ids or features is filled, and either targets or values.
struct Example {
  std::vector<std::int32_t> ids = {};  ///< token ids, one per token
  std::vector<float> features = {};    ///< an image (H, W, C) or vectors (N, F), row-major
  std::vector<std::int32_t> targets =
      {};  ///< a class per token, one for the sequence, or those to generate
  /// Numeric or binary targets: K per token, or K for the sequence; NaN where nothing counts.
  std::vector<float> values = {};
  /// Of a graph: pairs of tokens, each pair undirected and given in any order.
  std::vector<std::pair<std::int32_t, std::int32_t>> edges = {};
};

struct TaskShape;

/// Numbered examples.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// How many there are.
  virtual std::size_t size() const = 0;
  /// Thread-safe. `epoch` matters only where training examples are augmented. Requires: index <
  /// size().
  virtual Example get(std::uint64_t epoch, std::size_t index) const = 0;
  /// Tokens or vectors of an example, 0 of an image; the same in every epoch. Thread-safe. Makes
  /// the example, unless a data set knows better. Requires: index < size(), and the task's shape.
  virtual std::size_t length(std::size_t index, const TaskShape& shape) const;
};

}  // namespace xgrad
