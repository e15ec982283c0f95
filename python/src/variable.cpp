// Variable, no_grad and Rng.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/python/src/module.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

std::recursive_mutex& graphs() {
  static std::recursive_mutex mutex;
  return mutex;
}

namespace {

template <class T>
Variable<T> leaf_of(std::shared_ptr<Versioned<T>> value, bool requires_grad) {
  auto node = requires_grad ? std::make_shared<Node<T>>("leaf", value->shape()) : nullptr;
  return {std::move(value), std::move(node)};
}

Var leaf(nb::handle value, bool requires_grad) {
  if (is_single(value)) return {leaf_of(to_value<float>(value), requires_grad)};
  return {leaf_of(to_value<double>(value), requires_grad)};
}

nb::object value_of(const Var& var) {
  return var.visit([]<class T>(const Variable<T>& x) {
    return to_numpy<T>(std::shared_ptr<const Tensor<T>>(x.shared_value()));
  });
}

// Replaces the value, since arrays may share the memory of the old one.
void set_value(Var& var, nb::handle value) {
  const auto replace = [&]<class T>(Variable<T>& x) {
    auto given = to_value<T>(value);
    check_shape(given->shape() == x.shape(), "value: expected shape ", x.shape(), ", got ",
                given->shape());
    check<GradientError>(!x.shared_value()->recorded,
                         "value: this is the result of an op, which backward() may need");
    // Counts as a change: a graph that needs the old value refuses backward().
    Tensor<T>& old = x.mutable_value();
    if (var.shared) {
      std::copy_n(given->data(), given->size(), old.data());
    } else {
      x = Variable<T>(std::move(given), x.node());
    }
  };
  std::visit(replace, var.any);
}

// A copy: zero_grad() frees the gradient, and the next backward() adds to it.
nb::object grad_of(const Var& var) {
  return var.visit([]<class T>(const Variable<T> x) -> nb::object {
    std::shared_ptr<const Tensor<T>> gradient;
    {
      const Unlocked unlocked;
      const std::lock_guard lock(graphs());
      if (x.has_grad()) gradient = std::make_shared<const Tensor<T>>(x.grad());
    }
    return gradient ? to_numpy<T>(std::move(gradient)) : nb::none();
  });
}

void zero_grad(const Var& var) {
  var.visit([](const auto x) {
    const Unlocked unlocked;
    const std::lock_guard lock(graphs());
    x.zero_grad();
  });
}

// As NumPy asks for it: the array that shares the memory, unless `dtype` or `copy` says otherwise.
nb::object array_of(const Var& var, nb::handle dtype, nb::handle copy) {
  const nb::object value = value_of(var);
  const nb::object own = value.attr("dtype");
  const bool same = dtype.is_none() || own.equal(dtype);
  if (same && !copy.is(nb::bool_(true))) return value;
  if (!same && copy.is(nb::bool_(false))) {
    throw nb::value_error("an array of another dtype needs a copy, which copy=False forbids");
  }
  return value.attr("astype")(same ? own : nb::borrow(dtype));
}

nb::tuple shape_of(const Var& var) {
  return var.visit([](const auto& x) {
    nb::list sizes;
    for (const std::size_t size : x.shape()) sizes.append(size);
    return nb::tuple(sizes);
  });
}

void backward(const Var& var, nb::handle gradient, bool retain_graph) {
  var.visit([&]<class T>(const Variable<T> x) {
    std::optional<Tensor<T>> dy;  // a copy, in which ops may work
    if (!gradient.is_none()) dy = *to_value<T>(gradient);
    check_shape(!x.requires_grad() || dy || x.value().size() == 1,
                "backward: expected a gradient of shape ", x.shape(),
                ", since this has not one element");
    check_shape(!dy || dy->shape() == x.shape(), "backward: expected a gradient of shape ",
                x.shape(), ", got ", dy ? dy->shape() : Shape());
    const Unlocked unlocked;
    const std::lock_guard lock(graphs());
    dy ? x.backward(std::move(*dy), retain_graph) : x.backward(retain_graph);
  });
}

bool requires_grad(const Var& var) {
  return var.visit([](const auto& x) { return x.requires_grad(); });
}

std::string repr(const Var& var) {
  return "xgrad.Variable(" + nb::cast<std::string>(nb::repr(value_of(var))) +
         (requires_grad(var) ? ", requires_grad=True)" : ")");
}

// The context manager of no_grad(); one that is entered twice must leave twice.
struct NoGradContext {
  NoGradContext() = default;
  NoGradContext(const NoGradContext&) = delete;

  std::vector<std::unique_ptr<NoGrad>> entered;
};

void add_no_grad(nb::module_& m) {
  nb::class_<NoGradContext>(
      m, "no_grad", "While `with xgrad.no_grad():` lasts, ops of this thread record no graph.")
      .def(nb::init<>())
      .def("__enter__",
           [](NoGradContext& self) { self.entered.push_back(std::make_unique<NoGrad>()); })
      .def("__exit__", [](NoGradContext& self, nb::args) { self.entered.pop_back(); });
  m.def("grad_enabled", &grad_enabled, "Whether ops on this thread record a graph.");
}

void add_rng(nb::module_& m) {
  nb::class_<Rng>(m, "Rng",
                  "A stateless stream of random numbers (Philox4x32-10). `rng / name` and `rng / "
                  "number` are independent streams; the same path always gives the same stream.")
      .def(nb::init<std::uint64_t>(), "seed"_a)
      .def("__truediv__", [](const Rng& rng, std::uint64_t stream) { return rng / stream; })
      .def("__truediv__", [](const Rng& rng, std::string_view name) { return rng / name; });
}

void add_properties(nb::class_<Var>& variable) {
  variable
      .def(
          "__init__",
          [](Var* made, nb::object value, bool requires_grad) {
            new (made) Var(leaf(value, requires_grad));
          },
          "value"_a, "requires_grad"_a = false,
          nb::sig("def __init__(self, value: numpy.typing.ArrayLike, requires_grad: bool = False) "
                  "-> None"),
          "A leaf: a copy of an array-like of float32 or float64. With `requires_grad`, backward() "
          "leaves a gradient in `grad`.")
      .def_prop_rw(
          "value", &value_of, &set_value,
          nb::for_getter(nb::sig("def value(self) -> numpy.ndarray")),
          nb::for_setter(nb::sig("def value(self, value: numpy.typing.ArrayLike) -> None")),
          "The value: a read-only array that shares its memory. Assign an array to a leaf to "
          "replace it; arrays that share the old memory keep their elements, except those of a "
          "parameter of a layer or optimizer, which is written in place.")
      .def("__array__", &array_of, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> "
                   "numpy.ndarray"))
      .def_prop_ro(
          "grad", &grad_of, nb::sig("def grad(self) -> numpy.ndarray | None"),
          "A copy of the gradient of a leaf, of the shape of its value; None if none has arrived.")
      .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                   "The sizes of the axes.")
      .def_prop_ro(
          "dtype", [](const Var& var) { return value_of(var).attr("dtype"); },
          nb::sig("def dtype(self) -> numpy.dtype"), "float32 or float64.")
      .def_prop_ro("requires_grad", &requires_grad,
                   "Whether it is a leaf that wants a gradient, or depends on one.")
      .def_prop_ro(
          "is_leaf",
          [](const Var& var) {
            return var.visit([](const auto& x) { return !x.requires_grad() || !x.node()->op; });
          },
          "Whether no op with a graph made it.");
}

void add_methods(nb::class_<Var>& variable) {
  variable
      .def(
          "item", [](const Var& var) { return value_of(var).attr("item")(); },
          nb::sig("def item(self) -> float"),
          "The value of a Variable of one element, as a number.")
      .def(
          "detach",
          [](const Var& var) { return var.visit([](const auto& x) { return Var{x.detach()}; }); },
          "The same value, cut from the graph.")
      .def("zero_grad", &zero_grad, "Clears the gradient.")
      .def("backward", &backward, "gradient"_a = nb::none(), "retain_graph"_a = false,
           nb::sig("def backward(self, gradient: numpy.typing.ArrayLike | None = None, "
                   "retain_graph: bool = False) -> None"),
           "Adds d(this)/d(leaf), contracted with `gradient` (this shape; 1 for a Variable of one "
           "element), to `grad` of every leaf that this depends on. Releases the graph unless "
           "`retain_graph`. Raises GradientError when nothing requires a gradient, the graph is "
           "released, or a value that an op needs was changed.")
      .def("__repr__", &repr);
}

}  // namespace

nb::class_<Var> add_variable(nb::module_& m) {
  nb::class_<Var> variable(
      m, "Variable",
      "An array with the graph of ops that computed it, of float32 or float64 as the array that it "
      "was made of. The operators + - * / ** @ are add, sub, mul, div, pow and matmul; the other "
      "operand may be a Variable, an array or a number.");
  add_properties(variable);
  add_methods(variable);
  // An array on the left leaves the operator to the Variable on the right.
  variable.attr("__array_ufunc__") = nb::none();
  add_no_grad(m);
  add_rng(m);
  return variable;
}

}  // namespace xgrad::python
