// Markov chains, and what is known of their states from evidence.
#pragma once

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

/// A Markov chain whose first state is uniform.
struct Chain {
  std::size_t states = 0;          ///< K
  std::vector<double> transition;  ///< (K, K): row i is the distribution of what follows state i
};

/// `count` distributions over `size` values, (count, size): exp(spread z) for a standard normal z,
/// normalised.
std::vector<double> random_rows(const Rng& rng, std::size_t count, std::size_t size, double spread);

/// One whose rows are random_rows(), from any state to any other.
Chain random_chain(const Rng& rng, std::size_t states, double spread);

/// The value that a uniform number in [0, 1) falls to.
std::int32_t choose(const double* distribution, std::size_t size, double uniform);

/// A path of a chain.
Tokens walk(const Chain& chain, const Rng& rng, std::size_t length);

/// p(state t | all evidence), (N, K), from likelihoods (N, K) of the evidence at t given the state:
/// forward-backward, scaled at each t (Rabiner 1989). Requires: evidence that is possible.
std::vector<double> smooth(const Chain& chain, const std::vector<double>& likelihood);

/// Adds what guessing from a distribution reaches: its largest probability and its entropy.
void add_best_guess(const double* distribution, std::size_t size, Synthetic::Best& sum);

}  // namespace xgrad
