// SequenceModel<T>: the interface of all models; maps a batch to logits.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// The input of a model. Exactly one of ids and features is set.
template <class T>
struct ModelInput {
  const Ids* ids = nullptr;             ///< (B, N) token ids
  const Tensor<T>* features = nullptr;  ///< (B, H, W, C) images, or (B, N, F) vectors
  SharedMask mask = nullptr;            ///< (B, N), 1 = a token, 0 = padding; null = all tokens
  /// (B, N, N), 1 = token n may see token m; null = every token sees all tokens
  SharedMask adjacency = nullptr;
  /// (B, M) classes of the outputs; padding is negative. Models that generate sequences predict
  /// each class from the classes before it; other models ignore `outputs`.
  const Ids* outputs = nullptr;
};

template <class T>
class Decoding;  // layers/models/generate.hpp

/// Maps a batch to logits, or to numbers in regression: (B, N, classes) for one output per token,
/// (B, classes) for one per sequence, (B, M, classes) for generated sequences.
template <class T>
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  /// The logits of a batch; `context` says whether to train, and gives the random numbers.
  virtual Variable<T> operator()(const ModelInput<T>& input, const Context& context) const = 0;
  /// Starts decoding, with one sequence for each sample of the input. In an encoder-decoder model
  /// the sequences are outputs, empty at first. A language model continues the tokens of the input.
  /// Requires: the model outlives the result; the input need not. Throws ShapeError when the model
  /// cannot decode.
  ///
  /// The default, without_cache(), runs the model on the whole sequence for each new class. Models
  /// with a cache of keys and values override decode(): the n-th class then costs O(n). Their
  /// logits have the same bits as the logits of without_cache().
  virtual std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const;
};

}  // namespace xgrad
