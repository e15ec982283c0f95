// recompute(): gradient checkpointing, which saves memory and takes more time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <xgrad/autograd/op.hpp>

namespace xgrad {

/// f(x) in less memory: forward keeps only x, and backward runs f again, which takes time. Chen et
/// al. 2016.
///
/// f may use Variables that it captures, leaves and results of ops alike. f must give the same
/// bits each time; so f may take random numbers only from an Rng. Then results and gradients have
/// the same bits as without recompute(). f is copied and kept as long as the graph. If x requires
/// no gradient or a NoGrad lives, recompute() only calls f(x).
///
/// backward() throws GradientError if
/// - f gives another shape or other values (by a 64-bit hash) when it runs again, or the result of
///   only one of the two runs requires a gradient;
/// - f uses a Variable from outside that it did not use when it first ran;
/// - mutable_value() has changed a value that f uses;
/// - a result from inside f is used outside of f;
/// - a NoGrad lives during backward().
template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x);

namespace detail {

/// Orders nodes by age, oldest first. Addresses would give an order that differs from run to run.
struct Older {
  bool operator()(const auto& a, const auto& b) const { return a->id < b->id; }
};

/// The Variables that a recompute()'s function reads besides its argument. While a Captures and a
/// NoGrad live, apply() reports every op of this thread to the Captures.
template <class T>
class Captures {
 public:
  Captures();

  /// The newest Captures of this thread; null when there is none.
  static Captures* current();

  /// Notes x, unless made(x): its node if it requires a gradient, and its value if it can change.
  void note(const Variable<T>& x);
  /// Whether an op of the function computed x, and x depends on a Variable that requires a
  /// gradient.
  bool made(const Variable<T>& x) const { return x.node() == inside_; }
  /// The node of all x for which made(x) is true. It has no graph, so backward() through x throws.
  const std::shared_ptr<Node<T>>& inside() const { return inside_; }

  /// Moves the noted nodes and values to the node of the recompute().
  void move_to(Node<T>& recompute);

 private:
  std::shared_ptr<Node<T>> inside_;
  std::vector<std::shared_ptr<Node<T>>> nodes_;
  std::vector<Unchanged<T>> values_;
  Scoped<Captures*> scoped_;
};

/// y.backward(dy) for the result y of rerunning the function of `recompute`. All nodes of the rerun
/// have ids >= first. Backward stops at older nodes and leaves their gradients in them. Throws
/// GradientError when `recompute.captured` lacks an older node, since its gradient would be lost.
template <class T>
void backward_within(const Variable<T>& y, Tensor<T> dy, const Node<T>& recompute,
                     std::uint64_t first);

}  // namespace detail

}  // namespace xgrad
