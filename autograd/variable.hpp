// Variable<T>: a value that remembers how it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

template <class T>
struct Node;

/// A tensor that Variables share, and what backward() has to know of changes to it.
template <class T>
struct Versioned : Tensor<T> {
  /// A tensor that has not changed.
  explicit Versioned(Tensor<T> tensor) : Tensor<T>(std::move(tensor)) {}

  std::uint64_t version = 0;  ///< calls of mutable_value() so far
  bool recorded = false;      ///< the result of a recorded op, whose backward may read it
};

/// A handle on a value and, where a gradient is wanted, on the op that made it. Copies share both.
///
/// A graph is owned by its outputs: when the last Variable of it goes, it goes. First-order
/// gradients only. Different threads may build and differentiate graphs that share no Variable
/// requiring a gradient.
template <class T>
class Variable {
 public:
  /// No value; stands for an optional argument left out.
  Variable() = default;
  /// A leaf. With `requires_grad`, backward() leaves d(output)/d(this) in grad().
  explicit Variable(Tensor<T> value, bool requires_grad = false);

  /// Whether it has a value.
  bool defined() const { return value_ != nullptr; }
  /// What it holds. Requires: defined().
  const Tensor<T>& value() const { return *value_; }
  /// The shape of what it holds. Requires: defined().
  const Shape& shape() const { return value_->shape(); }
  /// Whether backward() leaves a gradient in it, or passes one on.
  bool requires_grad() const { return node_ != nullptr; }

  /// The one way to change a value, for optimizers and loaders. Every call counts as a change: a
  /// backward() that needs the value from before throws GradientError. So write through the
  /// reference at once, and do not keep it. Throws GradientError for the result of a recorded op.
  Tensor<T>& mutable_value() const;

  /// Whether a gradient has arrived. Of a leaf.
  bool has_grad() const;
  /// The accumulated gradient of a leaf. Throws GradientError when none has arrived.
  const Tensor<T>& grad() const;
  /// For clipping. Throws GradientError when none has arrived.
  Tensor<T>& mutable_grad() const;
  /// Forgets the gradient: references to it end here. Best called before forward, whose activations
  /// then take the memory of large gradients.
  void zero_grad() const;

  /// The same value, cut from the graph.
  Variable detach() const;

  /// Adds d(this)/d(leaf), contracted with `dy`, to the gradient of every leaf that this depends
  /// on.
  ///
  /// The graph is released on the way, so a second call throws GradientError, unless
  /// `retain_graph`. Throws GradientError when nothing requires a gradient or mutable_value() has
  /// changed a value that an op needs, ShapeError when dy has another shape. Whatever is thrown, a
  /// leaf of the graph that had no gradient has none then; one that had may hold a part of the sum.
  void backward(Tensor<T> dy, bool retain_graph = false) const;
  /// The same for a Variable of one element, with dy = 1.
  void backward(bool retain_graph = false) const;

  /// For ops: the value, which they may keep.
  const std::shared_ptr<Versioned<T>>& shared_value() const { return value_; }
  /// For the engine: what made it; null where no gradient is wanted.
  const std::shared_ptr<Node<T>>& node() const { return node_; }

  /// For the engine: a value and what made it.
  Variable(std::shared_ptr<Versioned<T>> value, std::shared_ptr<Node<T>> node)
      : value_(std::move(value)), node_(std::move(node)) {}

 private:
  std::shared_ptr<Versioned<T>> value_;
  std::shared_ptr<Node<T>> node_;
};

/// While one lives, ops on this thread record no graph.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Whether ops on this thread record a graph.
bool grad_enabled();

}  // namespace xgrad
