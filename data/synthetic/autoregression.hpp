// Autoregressive processes of order 2, for tasks that ask which of several known processes
// generated a signal.
#pragma once

#include <vector>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

/// An autoregressive process: x_t = a1 x_(t-1) + a2 x_(t-2) + sigma e_t with standard normal e_t,
/// starting from x = 0.
struct Ar2 {
  double a1 = 0;     ///< coefficient of x_(t-1)
  double a2 = 0;     ///< coefficient of x_(t-2)
  double sigma = 1;  ///< standard deviation of the noise

  /// The mean of x_t given x_(t-1) = x1 and x_(t-2) = x2.
  double expected(double x1, double x2) const { return a1 * x1 + a2 * x2; }
};

/// Makes `count` processes whose variance tends to 1 and whose spectra peak at different
/// frequencies: poles r exp(+-i theta), theta = pi (k + 1) / (count + 1), so a1 = 2 r cos theta, a2
/// = -r^2 and sigma^2 = (1 + a2) ((1 - a2)^2 - a1^2) / (1 - a2) (Box & Jenkins, 3.2.4).
std::vector<Ar2> resonators(std::size_t count, double radius);

/// Draws a signal of `length` samples. Each value is rounded to float before the next is computed
/// from it.
std::vector<float> signal(const Ar2& process, const Rng& rng, std::size_t length);

/// Returns p(process | signal), (processes), under a uniform prior.
std::vector<double> posterior(const std::vector<Ar2>& processes, const std::vector<float>& signal);

}  // namespace xgrad
