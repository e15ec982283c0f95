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

/// A Decoding that runs the model on the input and the whole output for each class. Requires: the
/// model predicts ModelInput::outputs class by class, and outlives the result.
template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input);

/// The rows of a selection as ids, for take().
Ids row_ids(const std::vector<std::size_t>& rows);
/// These rows of a mask; null for null.
SharedMask selected(const SharedMask& mask, const std::vector<std::size_t>& rows);

}  // namespace xgrad
