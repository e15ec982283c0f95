// Decoding: outputs that a model produces one class after another.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/layers/model.hpp>

namespace xgrad {

/// Sequences that grow by one class at a time, one in each row of a batch. Works without gradients
/// and in evaluation.
template <class T>
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// The logits (B, classes) of the class that follows in each row.
  const Tensor<T>& logits() const { return logits_; }
  /// The number B of rows.
  std::size_t rows() const { return logits_.shape()[0]; }
  /// Appends a class to each row and computes the logits() of the next one. Throws ShapeError when
  /// the rows become longer than the model can read.
  virtual void append(const std::vector<std::int32_t>& classes) = 0;
  /// Row b becomes the row rows[b] of before; rows may come twice, or not at all. B becomes their
  /// number, at least 1.
  virtual void select(const std::vector<std::size_t>& rows) = 0;

 protected:
  /// Sets logits() to those of the last token of each row of `logits` (B, N, classes).
  void set_last(const Tensor<T>& logits);
  /// Keeps these rows of logits().
  void select_logits(const std::vector<std::size_t>& rows);

 private:
  Tensor<T> logits_;
};

/// A model that keeps keys and values while it decodes, so that a class costs O(n) after n others,
/// and not the O(n^2) of a new pass over all of them. The logits have the same bits.
template <class T>
class Autoregressive {
 public:
  virtual ~Autoregressive() = default;
  /// Starts sequences for the `rows` samples of an input: empty outputs for a model that reads an
  /// input and writes an output; the input's tokens for a model that continues its input. Requires:
  /// the model outlives the result; the input need not. Throws ShapeError when the model cannot
  /// decode.
  virtual std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const = 0;
};

/// Starts outputs for each of the input's `rows` samples: Autoregressive::decode() for models that
/// have it; else a Decoding that runs the model on the whole output for each class. Requires: the
/// model predicts ModelInput::outputs class by class, and outlives the result.
template <class T>
std::unique_ptr<Decoding<T>> start_outputs(const SequenceModel<T>& model,
                                           const ModelInput<T>& input, std::size_t rows);

/// The Decoding of start_outputs() for models that keep nothing; the reference for those that do.
template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input, std::size_t rows);

/// The rows of a selection as ids, for gather().
Ids row_ids(const std::vector<std::size_t>& rows);
/// These rows of a mask; null for null.
std::shared_ptr<const Mask> selected(const std::shared_ptr<const Mask>& mask,
                                     const std::vector<std::size_t>& rows);

}  // namespace xgrad
