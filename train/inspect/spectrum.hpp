// The Fourier spectrum of a table of embeddings: with which frequencies its rows repeat.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// How much of the rows' variance one frequency explains.
struct FrequencyShare {
  std::size_t frequency = 0;  ///< periods over all rows, from 1 to n / 2
  double share = 0;           ///< from 0 to 1; the shares of all frequencies add up to 1
};

/// The spectrum of the rows x_0 ... x_(n-1) of a matrix (n, D), largest share first; ties in order
/// of frequency. With X_k = sum_j x_j exp(-2 pi i j k / n), frequency k has the share
///   2 |X_k|^2 / (n sum_j |x_j - mean|^2),
/// or half of this for k = n / 2, which has no sine (Parseval's theorem). Throws ShapeError if x is
/// not a matrix of at least two rows, and DataError if all rows are equal.
std::vector<FrequencyShare> spectrum(const Tensor<double>& x);

/// The spectrum of the first `rows` rows of a checkpoint's parameter; of all rows if `rows` is 0.
/// In a model that has learned to add modulo p, a few frequencies explain the embeddings of the
/// numbers below p (Nanda et al. 2023, arXiv:2301.05217). Throws ConfigError if there is no such
/// parameter, or if it is not a matrix with at least `rows` rows.
std::vector<FrequencyShare> spectrum(const Checkpoint& checkpoint, const std::string& parameter,
                                     std::size_t rows);

/// Returns a table to print, ending with a line feed.
std::string to_text(const std::vector<FrequencyShare>& shares);

}  // namespace xgrad
