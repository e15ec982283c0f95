// Random processes with known best predictions: Markov chains and autoregressive signals.
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

/// A chain with transitions from random_rows(); every transition is possible.
inline Chain random_chain(const Rng& rng, std::size_t states, double spread) {
  return {states, random_rows(rng / "transition", states, states, spread)};
}

/// Samples from a distribution: maps a uniform number in [0, 1) to a value in [0, size).
std::int32_t choose(const double* distribution, std::size_t size, double uniform);

/// Draws a path of max(1, `length`) states.
Tokens walk(const Chain& chain, const Rng& rng, std::size_t length);

/// Returns (N, K): p(state at t | evidence at all times). `likelihood` (N, K) holds p(evidence at t
/// | state at t). Forward-backward, scaled at each t (Rabiner 1989). Requires: the evidence has a
/// positive probability.
std::vector<double> smooth(const Chain& chain, const std::vector<double>& likelihood);

/// The softmax of `values`: probabilities in proportion to their exponentials.
std::vector<double> from_logarithms(std::vector<double> values);

/// Adds the score of the best guess for one target to `sum`. `distribution` is the distribution of
/// the target. Its largest probability is added to `right`, its entropy to `loss`, 1 to `targets`.
void add_best_guess(const double* distribution, std::size_t size, Synthetic::Best& sum);

/// An autoregressive process: x_t = a1 x_(t-1) + a2 x_(t-2) + sigma e_t with standard normal e_t,
/// starting from x = 0.
struct Ar2 {
  double a1 = 0;     ///< coefficient of x_(t-1)
  double a2 = 0;     ///< coefficient of x_(t-2)
  double sigma = 1;  ///< standard deviation of the noise

  /// The mean of x_t given x_(t-1) = x1 and x_(t-2) = x2.
  double expected(double x1, double x2) const { return a1 * x1 + a2 * x2; }
};

/// Makes `count` processes with a stationary variance of 1 and spectra that peak at different
/// frequencies. Process k has the poles r exp(+-i theta), with r = `radius` and theta = pi (k + 1)
/// / (count + 1). So a1 = 2 r cos theta, a2 = -r^2 and sigma^2 = (1 + a2) ((1 - a2)^2 - a1^2) / (1
/// - a2) (Box & Jenkins, 3.2.4).
std::vector<Ar2> resonators(std::size_t count, double radius);

/// Draws a signal of `length` samples. Rounds each value to float before it computes the next
/// value.
std::vector<float> signal(const Ar2& process, const Rng& rng, std::size_t length);

/// Returns p(process | signal) for each process, under a uniform prior.
std::vector<double> posterior(const std::vector<Ar2>& processes, const std::vector<float>& signal);

}  // namespace xgrad
