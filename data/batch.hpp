// Examples of a batch side by side, padded to the longest.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// A target that counts nothing: padding, or a position without a label.
inline constexpr std::int32_t kIgnore = -100;

struct Batch {
  std::size_t size = 0;              ///< B
  Ids ids;                           ///< (B, N); 0 where padded
  Tensor<float> features;            ///< (B, H, W, C)
  std::shared_ptr<const Mask> mask;  ///< (B, N); null when every example is of full length
  Ids targets;                       ///< (B, N) or (B); kIgnore where nothing counts
};

}  // namespace xgrad
