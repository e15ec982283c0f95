// Examples of a batch side by side, padded to the longest.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/dataset.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// A target that counts nothing: padding, or a position without a label.
inline constexpr std::int32_t kIgnore = -100;

/// What a model reads at once, and its targets.
struct Batch {
  std::size_t size = 0;    ///< B
  Ids ids;                 ///< (B, N) of token inputs; 0 where padded
  Tensor<float> features;  ///< (B, H, W, C) of images; (B, N, F) of vectors, 0 where padded
  std::shared_ptr<const Mask> mask;  ///< (B, N); null when every example is of full length
  Ids targets;  ///< classes (B, N) or (B), or generated (B, M); kIgnore where nothing counts
  Tensor<float> values;  ///< other targets, (B, N, K) or (B, K); 0 where nothing counts
  std::shared_ptr<const Mask> valid;  ///< of the values' shape, 1 = counts; null when all count
  /// (B, N, N) of graphs, 1 where an edge or a token itself is, 0 in the rows and columns of
  /// padding; else null.
  std::shared_ptr<const Mask> adjacency;
};

/// Tokens or vectors of an example; 0 of an image.
std::size_t length_of(const Example& example, const TaskShape& shape);

/// Throws DataError when the example with this number does not fit the shape: a token, target or
/// edge out of range, too many tokens, a wrong number of pixels, features or targets, a number that
/// is not finite. Targets may be missing altogether.
void check_example(const Example& example, const TaskShape& shape, std::size_t number);

/// Puts examples side by side. Requires: each passed check_example. Throws DataError when there are
/// none.
Batch collate(const std::vector<Example>& examples, const TaskShape& shape);

}  // namespace xgrad
