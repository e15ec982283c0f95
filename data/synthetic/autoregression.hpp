// Autoregressive processes of order 2, for tasks that ask which of several known processes
// generated a signal.
#pragma once

#include <vector>

#include <xgrad/data/synthetic/synthetic.hpp>

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

/// Specifies the options `length`, `min_length`, `frame`, `processes` and `radius`.
std::vector<OptionSpec> signal_options();

/// The settings that signal_options() describe.
struct SignalTask {
  /// Reads the options. Throws ConfigError.
  explicit SignalTask(const Options& options);
  /// A task with sequences of frames and one target per signal. The caller sets the kind of target
  /// and the draws.
  Synthetic synthetic() const;
  /// Draws the length of a signal in samples, a multiple of `frame`.
  std::size_t draw_length(const Rng& rng) const;

  std::vector<Ar2> processes;  ///< one per class
  std::size_t shortest;        ///< fewest frames in a signal
  std::size_t longest;         ///< most frames in a signal
  std::size_t frame;           ///< samples per frame
};

}  // namespace xgrad
