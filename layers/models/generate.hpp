// Decoding, generate and beam_search: outputs that a model produces one class after another.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/layers/model.hpp>

namespace xgrad {

/// Sequences that grow by one class at a time; each row of a batch is a sequence. Computes no
/// gradients, and no dropout.
template <class T>
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// The logits (B, classes) of the next class of each row.
  const Tensor<T>& logits() const { return logits_; }
  /// The number B of rows.
  std::size_t rows() const { return logits_.shape()[0]; }
  /// Appends a class to each row and computes the logits() of the next class. Throws ShapeError
  /// when the rows become longer than the model can read.
  virtual void append(const std::vector<std::int32_t>& classes) = 0;
  /// Row b becomes the old row rows[b]. `rows` may repeat or omit rows. The new B is the size of
  /// `rows`, at least 1.
  virtual void select(const std::vector<std::size_t>& rows) = 0;

 protected:
  /// Sets logits() to the logits of each row's last token; `logits` (B, N, classes).
  void set_last(const Tensor<T>& logits);
  /// Row b of logits() becomes the old row rows[b].
  void select_logits(const std::vector<std::size_t>& rows);

 private:
  Tensor<T> logits_;
};

/// A Decoding without a cache: for each new class it runs the model on the input and the whole
/// output so far. Requires: the model predicts ModelInput::outputs class by class, and outlives the
/// result.
template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input);

/// The given rows of a mask; null if the mask is null.
SharedMask selected(const SharedMask& mask, const std::vector<std::size_t>& rows);

/// An output that a model has chosen class by class.
template <class T>
struct Generated {
  std::vector<std::int32_t> classes = {};  ///< the last class is `end`, unless the output was cut
  /// log P(classes | input) in nats: the sum over all classes, including the end class.
  double log_probability = 0;
  Tensor<T> logits = {};  ///< (classes.size(), classes of the task)
};

/// Decodes greedily and returns one output for each row. Class i is the class with the largest
/// logit, given classes 0 ... i-1; ties go to the smallest class. An output ends with the class
/// `end`, which is part of it, or after `longest` classes. `longest` is at least 1.
///
/// Teacher forcing and greedy decoding read the same classes up to the first error. So an output is
/// generated without error exactly when every class is correct under teacher forcing. Therefore
/// Metrics::exact, measured under teacher forcing, is also the exact match of generated outputs.
template <class T>
std::vector<Generated<T>> generate(Decoding<T>& decoding, std::int32_t end, std::size_t longest);

/// Settings of beam_search().
struct BeamOptions {
  std::size_t width = 1;      ///< K, hypotheses that are kept, at least 1
  double length_penalty = 0;  ///< A, the exponent of the length in beam_search()
};

/// A hypothesis of a beam search.
struct Hypothesis {
  std::vector<std::int32_t> classes = {};  ///< as Generated::classes
  double log_probability = 0;              ///< as Generated::log_probability
};

/// Returns the 1 to K best outputs of a beam search, best first. Requires: `decoding` has one row.
///
/// The beam starts with the empty output. In each step, every output that has not ended is replaced
/// by its continuations, one for each class. The beam keeps the K outputs with the largest
///
///     log P(classes | input) / (number of classes)^A
///
/// Ties go to the output that comes first in the beam, then to the smaller class. The search ends
/// when all outputs in the beam have ended, or have `longest` classes. A = 0 compares total
/// log-probabilities, which favours short outputs; A = 1 compares the means per class. K = 1 is
/// greedy decoding.
template <class T>
std::vector<Hypothesis> beam_search(Decoding<T>& decoding, std::int32_t end, std::size_t longest,
                                    const BeamOptions& options);

/// log softmax of a row of logits, in double.
template <class T>
std::vector<double> log_probabilities(const T* logits, std::size_t classes);

}  // namespace xgrad
