// generate: the output that a model of sequences writes by itself.
#pragma once

#include <vector>

#include <xgrad/layers/model.hpp>

namespace xgrad {

/// Greedy decoding: output i is the class with the largest logit after the outputs 0 ... i-1, the
/// first of equals; ends with the class `end`, which the output includes, or after `longest`
/// classes. An output for each of the input's `batch` samples.
///
/// It is right to the end exactly when every class is right under teacher forcing: as long as all
/// before are right, both read the same. So the exact match that Metrics counts is that of
/// generated outputs.
template <class T>
std::vector<std::vector<std::int32_t>> generate(const SequenceModel<T>& model, ModelInput<T> input,
                                                std::size_t batch, std::int32_t end,
                                                std::size_t longest);

}  // namespace xgrad
