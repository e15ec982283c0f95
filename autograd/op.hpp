// Op<T>: one differentiable function, and apply(), which runs and records it.
//
// An op is a struct in one file under autograd/ops/, with forward() and right below it backward().
// What backward needs is kept in members that forward sets. See docs/adding-an-op.md.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// The result of a forward; a Saved pointer to it, or to an input, keeps the value for backward.
template <class T>
using Value = std::shared_ptr<Versioned<T>>;
/// A value that an op keeps for backward; null where an optional input was left out.
template <class T>
using Saved = std::shared_ptr<const Tensor<T>>;

/// An uninitialised result for forward() to fill.
template <class T>
Value<T> make_value(const Shape& shape) {
  return std::make_shared<Versioned<T>>(empty<T>(shape));
}

/// A value that backward needs as it was in forward. Internal to the engine.
template <class T>
struct Unchanged {
  /// As it is now.
  explicit Unchanged(const Value<T>& value) : value(value), version(value->version) {}
  /// Whether it still is; true when nothing holds it any more.
  bool holds() const {
    const auto now = value.lock();
    return !now || now->version == version;
  }

  std::weak_ptr<const Versioned<T>> value;  ///< which one
  std::uint64_t version;                    ///< that of forward
};

/// What forward reads.
template <class T>
class Inputs {
 public:
  /// Those of an op, in the order of apply(); `saved`, unless null, takes what save() keeps.
  Inputs(const Variable<T>* begin, std::size_t size, std::vector<Unchanged<T>>* saved = nullptr)
      : begin_(begin), size_(size), saved_(saved) {}

  /// How many there are, those that were left out included.
  std::size_t size() const { return size_; }
  /// False for an optional input that was left out.
  bool has(std::size_t i) const { return begin_[i].defined(); }
  /// Requires: has(i).
  const Tensor<T>& operator[](std::size_t i) const { return begin_[i].value(); }
  /// Keeps input i for backward; nothing when it is absent. backward() throws GradientError when
  /// mutable_value() has changed it in between.
  Saved<T> save(std::size_t i) const;

 private:
  const Variable<T>* begin_;
  std::size_t size_;
  std::vector<Unchanged<T>>* saved_;
};

/// Where backward puts the gradients of the inputs. Contributions add up; those that nobody wants
/// are dropped; an axis that was broadcast is summed away here, so no op has to.
template <class T>
class Grads {
 public:
  /// Of the inputs of a node.
  explicit Grads(Node<T>& node) : node_(node) {}

  /// Whether input i needs a gradient; ask before costly work.
  bool wants(std::size_t i) const;
  /// Adds d, of input i's shape or of one that it broadcasts to. Pass it with std::move where it is
  /// done with.
  void add(std::size_t i, Tensor<T> d);

  /// The buffer of input i's gradient, in input i's shape, for ops that write or accumulate in
  /// place.
  struct Target {
    T* data;     ///< row-major
    bool fresh;  ///< true: write every element (it holds garbage); false: add to it
    /// What the buffer is multiplied by before a product is added to it, as gemm() has it.
    T beta() const { return fresh ? T(0) : T(1); }
  };
  /// Requires: wants(i).
  Target target(std::size_t i);

  /// For the engine: whose inputs they are.
  const Node<T>& node() const { return node_; }

 private:
  Node<T>& node_;
};

/// One differentiable function of tensors.
template <class T>
class Op {
 public:
  virtual ~Op() = default;
  /// ONNX's name where ONNX has the op; a string literal.
  virtual const char* name() const = 0;
  /// The names of the inputs, in the order of apply() and with a space between, for messages. "?"
  /// follows the name of one that may be left out, "[]" that of one which stands for all the rest.
  virtual const char* arguments() const { return ""; }
  /// Checks the inputs (ShapeError), computes the result, keeps what backward needs.
  virtual Value<T> forward(const Inputs<T>& x) = 0;
  /// Given dy, the gradient of the result, adds that of each wanted input to dx. The default throws
  /// GradientError: an op without a derivative.
  virtual void backward(Tensor<T> dy, Grads<T>& dx) const;
};

/// A recorded op application, or a leaf (no op). Internal to the engine.
template <class T>
struct Node {
  /// A leaf, or what apply() gives its op to.
  Node(const char* name, const Shape& shape);
  ~Node();  // iterative: a chain of any length is freed without recursion

  std::uint64_t id;           ///< in the order of creation, which is one of topology
  std::uint64_t mark = 0;     ///< of the search that came by last
  const char* name;           ///< of the op
  Shape shape;                ///< of its result
  std::unique_ptr<Op<T>> op;  ///< null of a leaf
  std::vector<std::shared_ptr<Node>> inputs;    ///< null where no gradient is wanted
  std::vector<Shape> input_shapes;              ///< those that the gradients have
  std::vector<std::shared_ptr<Node>> captured;  ///< what a recompute() reads beside its input
  std::vector<Unchanged<T>> saved;              ///< values that backward needs
  Tensor<T> grad;                               ///< that has come so far
  bool has_grad = false;                        ///< whether one has come
  const char* lost = nullptr;                   ///< why there is no graph behind it; null: there is
};

namespace detail {

/// Throws ShapeError, naming input i, which has no value, unless `arguments`, as Op::arguments()
/// gives them, say that it may be left out.
void check_left_out(const char* op, std::string_view arguments, std::size_t i);

}  // namespace detail

/// Throws ShapeError, naming the op and the argument, where x has no value. apply() does it for the
/// inputs of an op.
template <class T>
void check_defined(const char* op, std::string_view argument, const Variable<T>& x) {
  if (!x.defined()) detail::check_left_out(op, argument, 0);
}

/// Runs op on the inputs and, if any of them requires a gradient and grad_enabled(), records it.
/// Throws ShapeError where an input that may not be left out has no value.
template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, std::initializer_list<Variable<T>> inputs);
/// The same for a number of inputs that is found out at run time.
template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, const std::vector<Variable<T>>& inputs);

}  // namespace xgrad
