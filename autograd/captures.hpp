// What the function of a recompute() reads beside its argument. Internal to the engine; not
// installed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <xgrad/autograd/op.hpp>

namespace xgrad::detail {

/// While one lives, and a NoGrad with it, apply() reports every op of this thread to it.
template <class T>
class Captures {
 public:
  Captures();
  ~Captures();
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  /// The newest of this thread; null when there is none.
  static Captures* current();

  /// Takes x if it comes from outside of the function.
  void note(const Variable<T>& x);
  /// Whether an op of the function computed x, and x depends on a Variable that requires a
  /// gradient.
  bool made(const Variable<T>& x) const { return x.node() == inside_; }
  /// The node of all these results. They have no graph: backward() through one throws.
  const std::shared_ptr<Node<T>>& inside() const { return inside_; }

  /// Gives the recorded recompute() what was noted.
  void move_to(Node<T>& recompute);

 private:
  std::shared_ptr<Node<T>> inside_;
  std::vector<std::shared_ptr<Node<T>>> nodes_;
  std::vector<Unchanged<T>> values_;
  Captures* before_;
};

/// y.backward(dy) for the y that the function of `recompute` gives when it runs again, all of whose
/// nodes have ids from `first` on. The walk ends at older nodes and leaves in them what arrives.
/// Throws GradientError when one of them is not known to `recompute`: its gradient would be lost.
template <class T>
void backward_within(const Variable<T>& y, Tensor<T> dy, const Node<T>& recompute,
                     std::uint64_t first);

}  // namespace xgrad::detail
