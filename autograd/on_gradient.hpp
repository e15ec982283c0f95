// OnGradient: a callback for gradients that are complete, while backward() goes on with others.
#pragma once

#include <functional>

#include <xgrad/autograd/op.hpp>

namespace xgrad {

/// While an OnGradient lives, backward() on this thread calls it for each leaf of its graph, right
/// after the last op that adds to the leaf's gradient. The order depends on the graph only. It may
/// read and change the gradients of leaves that it was called for.
template <class T>
class OnGradient {
 public:
  /// The callback gets Variable::node() of a leaf.
  using Function = std::function<void(const Node<T>& leaf)>;

  /// Starts calling, until destruction. One per thread at a time.
  explicit OnGradient(Function function);
  ~OnGradient();
  OnGradient(const OnGradient&) = delete;
  OnGradient& operator=(const OnGradient&) = delete;

  /// The one of this thread; null if there is none.
  static const OnGradient* current();
  /// Calls the function.
  void operator()(const Node<T>& leaf) const { function_(leaf); }

 private:
  Function function_;
};

}  // namespace xgrad
