// What a model makes of a few examples, for other programs to compare with.
#pragma once

#include <string>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// An npz archive of the first examples of the validation split, at most `count`, as one batch:
///
///     ids (B, N) or vectors (B, N, F), and mask (B, N); of graphs adjacency (B, N, N) too; or
///     image (B, H, W, C); of an encoder-decoder decoder_ids (B, M); targets, -100 where nothing
///     counts, or numbers with a mask `valid`; logits; loss, the mean of that of `objective` over
///     the targets that count; gradient.NAME of each parameter
///
/// all without dropout, label smoothing and the penalty on heads. Changes the parameters'
/// gradients. Throws DataError when the task's files are missing.
template <class T>
std::string reference_npz(const SequenceModel<T>& model, const Parameters<T>& parameters,
                          const Task& task, Objective objective, std::size_t count = 100);

}  // namespace xgrad
