// Markov chains, and inference of their states from evidence.
#pragma once

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

/// A Markov chain with a uniform first state.
struct Chain {
  std::size_t states = 0;          ///< K, the number of states
  std::vector<double> transition;  ///< (K, K): row i is the distribution of the state after i
};

/// Divides the numbers of a row by their sum.
void normalise(double* row, std::size_t size);

/// Draws `count` distributions over `size` values, (count, size). Probabilities are exp(spread z)
/// with standard normal z, normalised.
std::vector<double> random_rows(const Rng& rng, std::size_t count, std::size_t size, double spread);

/// A chain whose transitions are random_rows(), with every transition possible.
inline Chain random_chain(const Rng& rng, std::size_t states, double spread) {
  return {states, random_rows(rng / "transition", states, states, spread)};
}

/// Samples from a distribution: maps a uniform number in [0, 1) to a value in [0, size).
std::int32_t choose(const double* distribution, std::size_t size, double uniform);

/// Draws a path of `length` states, at least one.
Tokens walk(const Chain& chain, const Rng& rng, std::size_t length);

/// Returns p(state t | all evidence), (N, K), from likelihoods (N, K) of the evidence at t given
/// the state. Forward-backward, scaled at each t (Rabiner 1989). Requires: evidence with a positive
/// probability.
std::vector<double> smooth(const Chain& chain, const std::vector<double>& likelihood);

/// Adds the best guess from a distribution: its largest probability to `right`, its entropy to
/// `loss`.
void add_best_guess(const double* distribution, std::size_t size, Synthetic::Best& sum);

}  // namespace xgrad
