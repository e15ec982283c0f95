// Autoregressive processes of order 2: signals that one of several known sets of coefficients made.
#pragma once

#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// x_t = a1 x_(t-1) + a2 x_(t-2) + sigma e_t with standard normal e_t, from x = 0 on.
struct Ar2 {
  double a1 = 0;     ///< of the value before
  double a2 = 0;     ///< of the one before that
  double sigma = 1;  ///< deviation of the noise

  /// The mean of x_t after x_(t-1) = x1 and x_(t-2) = x2.
  double expected(double x1, double x2) const { return a1 * x1 + a2 * x2; }
};

/// `count` processes that all come to have variance 1 and differ in where their spectrum peaks:
/// poles r exp(+-i theta), theta = pi (k + 1) / (count + 1), so a1 = 2 r cos theta, a2 = -r^2 and
/// sigma^2 = (1 + a2) ((1 - a2)^2 - a1^2) / (1 - a2) (Box & Jenkins, 3.2.4).
std::vector<Ar2> resonators(std::size_t count, double radius);

/// A signal of a process. Each value is rounded to float before the next is computed from it.
std::vector<float> signal(const Ar2& process, const Rng& rng, std::size_t length);

/// p(process | signal), where all are equally likely at first.
std::vector<double> posterior(const std::vector<Ar2>& processes, const std::vector<float>& signal);

/// The options `length`, `min_length`, `frame`, `processes` and `radius`.
std::vector<OptionSpec> signal_options();

/// What those options say.
struct SignalTask {
  /// Throws ConfigError.
  explicit SignalTask(const Options& options);
  /// Of frames, with a target for the signal; the targets are left open.
  TaskShape shape() const;
  /// The number of samples of a signal of some whole number of frames.
  std::size_t draw_length(const Rng& rng) const;

  std::vector<Ar2> processes;  ///< one a class
  std::size_t shortest;        ///< frames of a signal
  std::size_t longest;         ///< frames of a signal
  std::size_t frame;           ///< samples of a frame
};

}  // namespace xgrad
