// generate: greedy decoding with a sequence-to-sequence model.
#pragma once

#include <vector>

#include <xgrad/layers/model.hpp>

namespace xgrad {

/// Decodes greedily and returns one output for each of the input's `batch` samples. Class i is the
/// one with the largest logit given classes 0 ... i-1 (the first of equal ones). An output ends
/// with the class `end`, which it includes, or after `longest` classes.
///
/// A generated output is entirely correct exactly when every class is correct under teacher
/// forcing, because both read the same classes up to the first error. The exact match of Metrics,
/// measured under teacher forcing, is therefore that of generated outputs.
template <class T>
std::vector<std::vector<std::int32_t>> generate(const SequenceModel<T>& model, ModelInput<T> input,
                                                std::size_t batch, std::int32_t end,
                                                std::size_t longest);

}  // namespace xgrad
