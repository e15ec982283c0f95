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

struct Batch {
  std::size_t size = 0;              ///< B
  Ids ids;                           ///< (B, N) of token inputs; 0 where padded
  Tensor<float> features;            ///< (B, H, W, C) of image inputs
  std::shared_ptr<const Mask> mask;  ///< (B, N); null when every example is of full length
  Ids targets;                       ///< (B, N) or (B); kIgnore where nothing counts
};

/// Throws DataError when the example with this number does not fit the shape: a token or target out
/// of range, too many tokens, a wrong number of pixels or targets, a pixel that is not finite.
/// Targets may be missing altogether.
void check_example(const Example& example, const TaskShape& shape, std::size_t number);

/// Puts examples side by side. Requires: each passed check_example. Throws DataError when there are
/// none.
Batch collate(const std::vector<Example>& examples, const TaskShape& shape);

}  // namespace xgrad
