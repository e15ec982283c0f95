// Op<T>: one differentiable function, and apply(), which runs and records it.
//
// An op is a struct in a file under autograd/ops/. backward() follows directly after forward().
// forward() keeps in members what backward() will read. See docs/adding-an-op.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// The result of forward().
template <class T>
using Value = std::shared_ptr<Versioned<T>>;
/// An input or a result that an op keeps for backward; null for an optional input left out.
template <class T>
using Saved = std::shared_ptr<const Tensor<T>>;

/// An uninitialised result for forward() to fill.
template <class T>
Value<T> make_value(const Shape& shape) {
  return std::make_shared<Versioned<T>>(shape);
}

/// Turns a tensor into a result. An xtensor expression is evaluated first.
template <class T>
Value<T> as_value(Tensor<T> result) {
  return std::make_shared<Versioned<T>>(std::move(result));
}

/// A value that must not change between forward and backward. Internal to the engine.
template <class T>
struct Unchanged {
  /// Notes the value's present version and shape.
  explicit Unchanged(const Value<T>& value)
      : value(value), version(value->version), shape(value->shape()) {}
  /// Whether the value still has this version and shape; true if the value no longer exists.
  bool holds() const {
    const auto now = value.lock();
    return !now || (now->version == version && detail::has_shape<T>(*now, shape));
  }

  std::weak_ptr<const Versioned<T>> value;  ///< the value
  std::uint64_t version;                    ///< its version in forward
  Shape shape;                              ///< its shape in forward
};

/// The inputs of forward().
template <class T>
class Inputs {
 public:
  /// `size` inputs, in the order of apply(). save() adds to `saved` the values that must not change
  /// before backward. `saved` is null if the op is not recorded.
  Inputs(const Variable<T>* begin, std::size_t size, std::vector<Unchanged<T>>* saved = nullptr)
      : begin_(begin), size_(size), saved_(saved) {}

  /// The number of inputs, including optional ones that were left out.
  std::size_t size() const { return size_; }
  /// False for an optional input that was left out.
  bool has(std::size_t i) const { return begin_[i].defined(); }
  /// The value of input i. Requires: has(i).
  const Tensor<T>& operator[](std::size_t i) const { return begin_[i].value(); }
  /// Whether backward() will compute the gradient of input i. If backward() needs input j only for
  /// this gradient, call save(j) only if wants(i).
  bool wants(std::size_t i) const { return saved_ && begin_[i].requires_grad(); }
  /// Returns input i, to keep it for backward; null if the input was left out. backward() throws
  /// GradientError if mutable_value() changes the input after this call.
  Saved<T> save(std::size_t i) const;

 private:
  const Variable<T>* begin_;
  std::size_t size_;
  std::vector<Unchanged<T>>* saved_;
};

/// Receives the gradients of the inputs from backward(). Drops gradients that are not wanted, and
/// sums over axes that were broadcast.
template <class T>
class Grads {
 public:
  /// The gradients of the inputs of `node`.
  explicit Grads(Node<T>& node) : node_(node) {}

  /// Whether input i needs a gradient; ask before expensive work.
  bool wants(std::size_t i) const;
  /// The shape of input i. Requires: wants(i).
  const Shape& shape(std::size_t i) const { return node_.inputs[i]->shape; }
  /// Adds d to the gradient of input i, and takes the elements of d. d has the shape of the input,
  /// or a shape that the input was broadcast to. Throws ShapeError for another shape, and if d has
  /// no elements because an earlier call took them.
  void add(std::size_t i, Tensor<T>&& d);
  /// add() of a copy of d.
  void add(std::size_t i, const Tensor<T>& d) {
    if (wants(i)) add(i, Tensor<T>(d));
  }

  /// The memory of an input's gradient, row-major. It is uninitialised until a gradient has
  /// arrived. For each element, an op makes exactly one of these calls: add(), sums(), or a gemm()
  /// with data() and beta(). The call writes the first gradient and adds later ones. After it, the
  /// op may add to the element through data().
  class Target {
   public:
    /// No memory, for a gradient that is not wanted.
    Target() = default;
    /// For the engine. `fresh`: the memory is uninitialised.
    Target(T* data, bool fresh) : data_(data), fresh_(fresh) {}
    /// Whether there is memory.
    explicit operator bool() const { return data_ != nullptr; }

    /// The output matrix C of a gemm() that computes the gradient.
    T* data() const { return data_; }
    /// The beta of that gemm().
    T beta() const { return fresh_ ? T(0) : T(1); }
    /// Adds term(0) ... term(n - 1) to the n elements from `first` on.
    template <class F>
    void add(std::size_t first, std::size_t n, const F& term) const {
      T* const __restrict to = data_ + first;
      if (fresh_) {
        for (std::size_t i = 0; i < n; ++i) to[i] = term(i);
      } else {
        for (std::size_t i = 0; i < n; ++i) to[i] += term(i);
      }
    }
    /// The n elements from `first` on, to each of which the op may add any number of times. They
    /// start at 0 if no gradient has arrived.
    T* sums(std::size_t first, std::size_t n) const {
      if (fresh_) std::fill_n(data_ + first, n, T(0));
      return data_ + first;
    }

   private:
    T* data_ = nullptr;
    bool fresh_ = false;
  };
  /// Requires: wants(i).
  Target target(std::size_t i);

  /// For the engine: the node whose inputs get the gradients.
  const Node<T>& node() const { return node_; }

 private:
  Node<T>& node_;
};

/// One differentiable function of tensors.
template <class T>
class Op {
 public:
  virtual ~Op() = default;
  /// The name of the op's function in ops.hpp, a string literal.
  virtual const char* name() const = 0;
  /// The names of the inputs for messages, in the order of apply(), separated by spaces. "?" after
  /// a name marks an optional input. A name with "[]" stands for all remaining inputs.
  virtual const char* arguments() const { return ""; }
  /// Checks the inputs (ShapeError), computes the result, keeps what backward needs.
  virtual Value<T> forward(const Inputs<T>& x) = 0;
  /// Given dy, the gradient of the result, adds the gradient of each wanted input to dx. May change
  /// dy or move from it. An op without a derivative keeps the default, which throws GradientError.
  virtual void backward(Tensor<T>& dy, Grads<T>& dx) const;
};

/// A recorded op application, or a leaf (no op). Internal to the engine.
template <class T>
struct Node {
  /// A leaf, until apply() sets its op.
  Node(const char* name, const Shape& shape);
  ~Node();  // frees a chain of any length without recursion

  /// `value` is the node's value. Throws ShapeError if the shape of a leaf's value has changed.
  void check_value(const Tensor<T>& value) const {
    if (!op && !lost) detail::check_unchanged("the value of a leaf", value, shape);
  }
  /// The gradient that has arrived. Throws ShapeError if an assignment changed its shape.
  Tensor<T>& arrived() {
    detail::check_unchanged("the gradient of a leaf", grad, shape);
    return grad;
  }

  std::uint64_t id;           ///< grows in the order of creation: inputs have smaller ids
  std::uint64_t mark = 0;     ///< number of the last traversal that visited this node
  const char* name;           ///< the op's name; "leaf" for a leaf
  Shape shape;                ///< the result's shape
  std::unique_ptr<Op<T>> op;  ///< null for a leaf
  std::vector<std::shared_ptr<Node>> inputs;    ///< null where no gradient is wanted
  std::vector<std::shared_ptr<Node>> captured;  ///< other nodes that a recompute() reads
  std::vector<Unchanged<T>> saved;              ///< values that backward needs
  Tensor<T> grad;                               ///< sum of the gradients that arrived
  bool has_grad = false;                        ///< whether a gradient has arrived
  std::atomic<std::uint32_t> thread = 0;        ///< number of the thread that adds to grad, or 0
  const char* lost = nullptr;                   ///< why backward() cannot pass this node, or null
};

/// While an OnGradient lives, backward() on this thread calls its function for each leaf of the
/// graph, as soon as the leaf's gradient is complete. The order of the calls depends on the order
/// in which the ops and leaves were made. The function may read and change the gradients of the
/// leaf that it gets and of the leaves that it got before.
template <class T>
class OnGradient {
 public:
  /// The callback gets Variable::node() of a leaf.
  using Function = std::function<void(const Node<T>& leaf)>;

  /// Calls `function` from now on, until destruction.
  explicit OnGradient(Function function);
  /// The function of this thread; null if there is none.
  static const Function* current();

 private:
  Function function_;
  detail::Scoped<const Function*> scoped_;
};

namespace detail {

/// Throws a ShapeError that names input i, unless `arguments` of the op marks input i as optional.
void check_left_out(const char* op, std::string_view arguments, std::size_t i);

}  // namespace detail

/// Throws a ShapeError that names the op and the argument if x has no value. apply() checks its
/// inputs itself.
template <class T>
void check_defined(const char* op, std::string_view argument, const Variable<T>& x) {
  if (!x.defined()) detail::check_left_out(op, argument, 0);
}

/// Runs op on the inputs. Records op if an input requires a gradient and grad_enabled(). Throws
/// ShapeError when a required input has no value.
template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, std::initializer_list<Variable<T>> inputs);
/// apply() for a number of inputs known only at run time.
template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, const std::vector<Variable<T>>& inputs);

}  // namespace xgrad
