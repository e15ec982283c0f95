// The global gradient norm, for clipping, and for detecting NaN and spikes.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/flat_parameters.hpp>

namespace xgrad {

/// The sums of squares of the gradients over blocks of 8192 scalars, in double. Only the scalars of
/// `part` count, and only if their parameter has a gradient.
template <class T>
std::vector<double> sums_of_squares(const Parameters<T>& parameters, const ModelPart& part = {});

/// The square root of the sum of `sums`, added in their order.
double norm_of(const std::vector<double>& sums);

/// The Euclidean norm of all gradients together. Parameters without a gradient do not count.
///
/// It is norm_of(sums_of_squares(parameters)), so the bits do not depend on the number of threads.
template <class T>
double global_norm(const Parameters<T>& parameters) {
  return norm_of(sums_of_squares(parameters));
}

/// Returns min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 when max_norm is
/// 0, which means no clipping. Throws NumericError when an argument is negative or NaN,
/// or `norm` infinite.
double clip_factor(double norm, double max_norm);

/// Limits the gradients of the scalars of `part` to [-most, most], as
/// torch.nn.utils.clip_grad_value_ does. Skips parameters without a gradient.
template <class T>
void clip_values(const Parameters<T>& parameters, double most, const ModelPart& part = {});

/// Returns the first parameter with a value that is infinite or NaN; nullptr if there is none.
/// Reads the bits, so no compiler flag can remove the test.
template <class T>
const Parameter<T>* first_not_finite(const Parameters<T>& parameters);

/// After 20 observed norms, a norm is a spike when it exceeds `factor` times m, the running mean of
/// the observed norms. m starts as the first norm; observe() then sets m <- 0.98 m + 0.02 norm.
class SpikeGuard {
 public:
  /// The whole state.
  struct State {
    double mean = 0;          ///< m, the running mean
    std::uint64_t count = 0;  ///< number of norms observed
  };

  /// A factor of 0 disables the guard.
  explicit SpikeGuard(double factor) : factor_(factor) {}

  /// Whether a norm is a spike.
  bool is_spike(double norm) const {
    constexpr std::uint64_t kFewest = 20;
    return watches() && state_.count >= kFewest && norm > factor_ * state_.mean;
  }
  /// Adds a norm to the mean. Do not call observe() for a spike.
  void observe(double norm) {
    constexpr double kDecay = 0.98;
    state_.mean = state_.count == 0 ? norm : kDecay * state_.mean + (1 - kDecay) * norm;
    ++state_.count;
  }

  /// Whether the guard is enabled.
  bool watches() const { return factor_ > 0; }
  /// The state.
  const State& state() const { return state_; }
  /// The state, for restoring it.
  State& state() { return state_; }

 private:
  double factor_;
  State state_;
};

}  // namespace xgrad
