// DeadGradients: finds parameters that no gradient reaches.
#pragma once

#include <vector>

#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// Finds parameters whose gradient was missing, or exactly 0 in every element, in each step since
/// the last call of take(). Parameters that require no gradient do not count.
///
/// Costs almost nothing: a step looks only at parameters that have had no gradient since then, and
/// only up to the first element that is not 0.
template <class T>
class DeadGradients {
 public:
  /// Watches `parameters`, which must be complete and outlive this object.
  explicit DeadGradients(const Parameters<T>& parameters)
      : parameters_(&parameters), alive_(parameters.size()) {}

  /// Looks at the gradients of a step, after its backward.
  void observe();
  /// A character for each parameter: 1 if it had a gradient that is not 0 since the last take().
  std::string alive() const { return {alive_.begin(), alive_.end()}; }
  /// Adds what other processes have observed, as their alive().
  void join(const std::string& alive);
  /// Returns the dead parameters, in the order of their creation, and starts again.
  std::vector<const Parameter<T>*> take();

 private:
  const Parameters<T>* parameters_;
  std::vector<bool> alive_;
};

}  // namespace xgrad
