// SequenceModel<T>: the interface of all models; maps a batch to logits.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// The input of a model. Exactly one of ids and features is set.
template <class T>
struct ModelInput {
  const Ids* ids = nullptr;             ///< (B, N) token ids
  const Tensor<T>* features = nullptr;  ///< (B, H, W, C) images, or (B, N, F) vectors
  std::shared_ptr<const Mask> mask =
      nullptr;  ///< (B, N), 1 = a token, 0 = padding; null = all tokens
  std::shared_ptr<const Mask> adjacency =
      nullptr;  ///< (B, N, N), 1 = token n may see token m; null = every token sees all
  /// (B, M) classes of the outputs, negative where padded. Models that generate sequences predict
  /// each class from those before it; other models ignore them.
  const Ids* outputs = nullptr;
};

/// Maps a batch to logits, or to numbers in regression: (B, N, classes) for token outputs, (B,
/// classes) for sequence outputs, (B, M, classes) for generated outputs.
template <class T>
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  /// The logits of a batch; `context` says whether to train, and gives the random numbers.
  virtual Variable<T> operator()(const ModelInput<T>& input, const Context& context) const = 0;
};

}  // namespace xgrad
