// SequenceModel<T>: batch -> logits, the one seam between the config and the layers.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// What a model reads. Either ids or features is not null.
template <class T>
struct ModelInput {
  const Ids* ids = nullptr;             ///< (B, N) token ids
  const Tensor<T>* features = nullptr;  ///< (B, H, W, C) images, or (B, N, F) vectors
  std::shared_ptr<const Mask> mask =
      nullptr;  ///< (B, N), 1 = a token, 0 = padding; null = all tokens
  std::shared_ptr<const Mask> adjacency =
      nullptr;  ///< (B, N, N), 1 = token n may see token m; null = every token sees all
  /// (B, M) classes of generated outputs, read by models that write them: for each place, those
  /// before it. Negative where padded.
  const Ids* outputs = nullptr;
};

/// Maps a batch to what it says of the targets, logits or numbers: (B, N, classes) for token
/// outputs, (B, classes) for sequence outputs, (B, M, classes) for generated ones.
template <class T>
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  /// What it says of the targets of a batch; `context` tells whether it trains, and by which
  /// randomness.
  virtual Variable<T> operator()(const ModelInput<T>& input, const Context& context) const = 0;
};

}  // namespace xgrad
