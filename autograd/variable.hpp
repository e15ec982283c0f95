// Variable<T>: a value with the graph of ops that computed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scoped.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

template <class T>
struct Node;

namespace detail {
template <class T>
struct PackedCopies;

/// Whether x still has this shape and all its elements. An assignment to mutable_value() can change
/// the shape; moving from mutable_value() takes the elements away.
template <class T>
bool has_shape(const Tensor<T>& x, const Shape& shape) {
  return x.shape() == shape && x.storage().size() == size_of(shape);
}

/// Throws ShapeError, with a message that starts with `name`, unless has_shape(x, shape).
template <class T>
void check_unchanged(const auto& name, const Tensor<T>& x, const Shape& shape) {
  check_shape(has_shape(x, shape), name, ": expected shape ", shape, ", got ", x.shape(), " with ",
              x.storage().size(), " elements; write elements, do not assign another shape");
}

/// Frees the elements of x, but keeps its shape.
template <class T>
void free_elements(Tensor<T>& x) {
  typename Tensor<T>::storage_type().swap(x.storage());
}
}  // namespace detail

/// A tensor that Variables share. Its version lets backward() notice changes.
template <class T>
struct Versioned : Tensor<T> {
  /// Takes the tensor, at version 0.
  explicit Versioned(Tensor<T> tensor) : Tensor<T>(std::move(tensor)) {}
  /// Makes an uninitialised tensor, as empty() does, at version 0.
  explicit Versioned(const Shape& shape) : Tensor<T>(empty<T>(shape)) {}

  std::uint64_t version = 0;  ///< calls of mutable_value() so far
  bool recorded = false;      ///< whether a recorded op computed it: the op's backward may read it
  std::shared_ptr<detail::PackedCopies<T>> packed;  ///< copies for faster matrix products, or null
};

/// A handle to a value and, if a gradient is wanted, to the op that made it. Copies share both.
///
/// A graph lives until the last Variable that it computed is destroyed. Only first-order gradients
/// are available. Different threads may build and differentiate graphs at the same time if the
/// graphs share no Variable that requires a gradient. backward() throws GradientError, and changes
/// nothing, if it would add to a leaf to which the backward() of another thread is adding.
template <class T>
class Variable {
 public:
  /// A Variable without a value, for an optional argument that is left out.
  Variable() = default;
  /// A leaf. With `requires_grad`, backward() adds d(output)/d(this) to grad().
  explicit Variable(Tensor<T> value, bool requires_grad = false);

  /// Whether it has a value.
  bool defined() const { return value_ != nullptr; }
  /// Its value. Requires: defined().
  const Tensor<T>& value() const { return *value_; }
  /// Its value's shape. Requires: defined().
  const Shape& shape() const { return value_->shape(); }
  /// Whether it is a leaf that wants a gradient, or depends on such a leaf.
  bool requires_grad() const { return node_ != nullptr; }

  /// The value for writing. Every call counts as a change: a backward() that needs the old value
  /// throws GradientError. So write through the reference at once and do not keep it. Throws
  /// GradientError for the result of a recorded op. If an assignment changes the shape of a leaf
  /// that requires a gradient, the next use of the leaf throws ShapeError.
  Tensor<T>& mutable_value() const;

  /// Whether it is a leaf with a gradient, from backward() or make_grad().
  bool has_grad() const;
  /// The accumulated gradient of a leaf. Throws GradientError unless has_grad(). Throws ShapeError
  /// if an assignment to mutable_grad() or make_grad() has changed the shape; zero_grad() repairs
  /// this.
  const Tensor<T>& grad() const;
  /// The accumulated gradient for writing, for example to clip it. Throws as grad().
  Tensor<T>& mutable_grad() const;
  /// The gradient of a leaf for writing; zeros unless has_grad(). Throws GradientError unless this
  /// is a leaf that requires a gradient, and ShapeError as grad().
  Tensor<T>& make_grad() const;
  /// Clears the gradient; references to the gradient become invalid. Call this before forward, so
  /// that activations can reuse the memory of the gradient.
  void zero_grad() const;

  /// A Variable that shares this value and requires no gradient.
  Variable detach() const;

  /// Adds the vector-Jacobian product of `dy` and d(this)/d(leaf) to the gradient of every leaf
  /// that this Variable depends on.
  ///
  /// Without `retain_graph`, the call releases the graph, and a second call throws GradientError.
  /// Throws GradientError if this Variable requires no gradient, or if mutable_value() has changed
  /// a value that an op needs. Throws ShapeError if dy and this Variable differ in shape. After an
  /// exception, a leaf that had no gradient still has none; other gradients may be partial sums.
  void backward(Tensor<T> dy, bool retain_graph = false) const;
  /// backward() with dy = 1, for a Variable of one element.
  void backward(bool retain_graph = false) const;
  /// The value of a Variable of one element, such as a loss. Throws ShapeError for other sizes.
  T item() const;
  /// select(*this, 0, index): the element, or the row, at an index of the first axis.
  Variable operator[](std::ptrdiff_t index) const;
  /// Deleted, so that a number or pointer is not converted to `retain_graph`. To start from a
  /// gradient other than 1, pass it as a tensor dy.
  template <class X>
  requires(std::is_scalar_v<X> &&
           !std::is_same_v<X, bool>) void backward(X dy, bool = false) const = delete;

  /// For ops: a shared pointer to the value, so that an op can keep the value.
  const std::shared_ptr<Versioned<T>>& shared_value() const { return value_; }
  /// For the engine: the node of this Variable in the graph; null if no gradient is wanted.
  const std::shared_ptr<Node<T>>& node() const { return node_; }

  /// For the engine: a value and its node.
  Variable(std::shared_ptr<Versioned<T>> value, std::shared_ptr<Node<T>> node)
      : value_(std::move(value)), node_(std::move(node)) {}

 private:
  std::shared_ptr<Versioned<T>> value_;
  std::shared_ptr<Node<T>> node_;
};

/// Prints the value as a tensor, then a line with the shape. If x requires a gradient, the line
/// also names the op that made x.
template <class T>
std::ostream& operator<<(std::ostream& out, const Variable<T>& x);

/// While a NoGrad lives, ops on this thread record no graph.
class NoGrad : detail::Scoped<bool> {
 public:
  NoGrad();
};

/// Whether ops on this thread record a graph.
bool grad_enabled();

}  // namespace xgrad
