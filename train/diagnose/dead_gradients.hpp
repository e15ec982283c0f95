// DeadGradients: finds parameters that no gradient reaches.
#pragma once

#include <algorithm>
#include <string>
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
      : parameters_(&parameters), alive_(parameters.size(), '\0') {}

  /// Looks at the gradients of a step, after its backward.
  void observe() {
    auto alive = alive_.begin();
    for (const Parameter<T>& p : *parameters_) {
      if (char& lives = *alive++; !lives && p.variable.has_grad()) {
        const Tensor<T>& x = p.variable.grad();
        lives = std::any_of(x.data(), x.data() + x.size(), [](T each) { return each != T(0); });
      }
    }
  }
  /// A character for each parameter: 1 if it had a gradient that is not 0 since the last take().
  const std::string& alive() const { return alive_; }
  /// Adds what other processes have observed, as their alive().
  void join(const std::string& alive) {
    for (std::size_t i = 0; i < alive_.size(); ++i) alive_[i] |= alive[i];
  }
  /// Returns the dead parameters, in the order of their creation, and starts again.
  std::vector<const Parameter<T>*> take() {
    std::vector<const Parameter<T>*> dead;
    auto alive = alive_.begin();
    for (const Parameter<T>& p : *parameters_) {
      if (!*alive++ && p.variable.requires_grad()) dead.push_back(&p);
    }
    alive_.assign(alive_.size(), '\0');
    return dead;
  }

 private:
  const Parameters<T>* parameters_;
  std::string alive_;
};

}  // namespace xgrad
