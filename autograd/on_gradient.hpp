// OnGradient: a callback for gradients that are complete, while backward() goes on with others.
#pragma once

#include <functional>

#include <xgrad/autograd/op.hpp>

namespace xgrad {

/// While one lives, backward() on this thread calls it for each leaf of its graph, right after the
/// last op that adds to the leaf's gradient. The order depends on the order in which the ops and
/// leaves were made. It may read and change the gradients of leaves that it was called for.
template <class T>
class OnGradient {
 public:
  /// The callback gets Variable::node() of a leaf.
  using Function = std::function<void(const Node<T>& leaf)>;

  /// Starts calling, until destruction.
  explicit OnGradient(Function function);
  /// The function of this thread; null if there is none.
  static const Function* current();

 private:
  Function function_;
  detail::Scoped<const Function*> scoped_;
};

}  // namespace xgrad
