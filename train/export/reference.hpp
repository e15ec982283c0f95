// Reference values for other programs that run the same model.
#pragma once

#include <string>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// Returns an npz archive with a batch of at most `count` examples, the first of the validation
/// split:
///
///     ids (B, N) or vectors (B, N, F), with mask (B, N) and, for graphs, adjacency (B, N, N);
///     or image (B, H, W, C); for an encoder-decoder also decoder_ids (B, M);
///     targets, -100 for those that do not count, or numbers with a mask `valid`; logits;
///     loss, the mean loss of `objective` over the targets that count; gradient.NAME per parameter
///
/// computed without dropout, label smoothing and the penalty on heads. Changes the parameters'
/// gradients. Throws DataError if the task's files are missing.
template <class T>
std::string reference_npz(const SequenceModel<T>& model, const Parameters<T>& parameters,
                          const Task& task, Objective objective, std::size_t count = 100);

}  // namespace xgrad
