// Variable with its operators, no_grad, Rng, and the options of attention. The functions of ops.hpp
// are defined by op_table.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/operators.hpp>
#include <xgrad/python/src/arrays.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

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
    if (const GraphLock lock; x.has_grad()) {
      gradient = std::make_shared<const Tensor<T>>(x.grad());
    }
    return gradient ? to_numpy<T>(std::move(gradient)) : nb::none();
  });
}

void zero_grad(const Var& var) {
  var.visit([](const auto x) {
    const GraphLock lock;
    x.zero_grad();
  });
}

// __array__(), which NumPy calls: the array that shares the memory, unless `dtype` or `copy` asks
// for another one.
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

void backward(const Var& var, nb::handle gradient, bool retain_graph) {
  var.visit([&]<class T>(const Variable<T> x) {
    std::optional<Tensor<T>> dy;  // a copy, in which ops may work
    if (!gradient.is_none()) dy = *to_value<T>(gradient);
    check_shape(!x.requires_grad() || dy || x.value().size() == 1,
                "backward: expected a gradient of shape ", x.shape(),
                ", since this Variable does not have one element");
    check_shape(!dy || dy->shape() == x.shape(), "backward: expected a gradient of shape ",
                x.shape(), ", got ", dy ? dy->shape() : Shape());
    const GraphLock lock;
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

// The context manager of no_grad(). It may be entered several times, and then must be left as
// often.
struct NoGradContext {
  NoGradContext() = default;
  NoGradContext(const NoGradContext&) = delete;

  std::vector<std::unique_ptr<NoGrad>> entered;
};

void add_no_grad(nb::module_& m) {
  nb::class_<NoGradContext>(m, "no_grad",
                            "Inside `with xgrad.no_grad():`, ops of this thread record no graph.")
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
          "stores a gradient in `grad`.")
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
      .def_prop_ro(
          "shape", [](const Var& var) { return value_of(var).attr("shape"); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "The sizes of the axes.")
      .def_prop_ro(
          "dtype", [](const Var& var) { return value_of(var).attr("dtype"); },
          nb::sig("def dtype(self) -> numpy.dtype"), "float32 or float64.")
      .def_prop_ro("requires_grad", &requires_grad,
                   "Whether this is a leaf that wants a gradient, or was computed from one.")
      .def_prop_ro(
          "is_leaf",
          [](const Var& var) {
            return var.visit([](const auto& x) { return !x.requires_grad() || !x.node()->op; });
          },
          "Whether this is not the result of a recorded op.");
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
           "Computes the gradient of sum(gradient * this) with respect to every leaf that this was "
           "computed from, and adds it to `grad` of the leaf. `gradient` has the shape of this "
           "Variable; it may be left out for a Variable of one element, where it is 1. Releases "
           "the graph unless `retain_graph`. Raises GradientError when nothing requires a "
           "gradient, the graph is released, or a value that an op needs was changed.")
      .def("__repr__", &repr);
}

void add_attention_options(nb::module_& m) {
  nb::class_<AttentionOptions>(
      m, "AttentionOptions",
      "Options of attention(): `heads`; `scale`, default 1/sqrt(d_head); `key_mask` (B, M), 1 = "
      "may be attended to; "
      "`mask` (B, N, M), the same for each query; `causal`: query i sees the keys 0 ... i only; "
      "`exclude_self`: query "
      "i does not see key i; `p`, `rng` and `first_sample` of dropout on the probabilities.")
      .def(
          "__init__",
          [](AttentionOptions* made, std::size_t heads, std::optional<double> scale,
             const OptionalMaskOperand& key_mask, const OptionalMaskOperand& mask, bool causal,
             bool exclude_self, double p, std::optional<Rng> rng, std::uint32_t first) {
            new (made) AttentionOptions{
                .heads = heads,
                .scale = scale,
                .masks = {to_shared_mask(key_mask.object), to_shared_mask(mask.object)},
                .causal = causal,
                .exclude_self = exclude_self,
                .dropout = {p, rng, first}};
          },
          "heads"_a = 1, "scale"_a = nb::none(), "key_mask"_a = nb::none(), "mask"_a = nb::none(),
          "causal"_a = false, "exclude_self"_a = false, "p"_a = 0.0, "rng"_a = nb::none(),
          "first_sample"_a = 0);
}

// Python passes the Variable first, to reflected operators too.
void add_operators(nb::class_<Var>& variable) {
  const auto binary = [&](const std::string& name, const char* function, auto f) {
    const std::string doc = function + std::string("(a, b)");
    const auto op = [f](const Operand& a, const Operand& b) {
      const auto make = [&]<class T>() {
        return [f, x = to_variable<T>(a.object), y = to_variable<T>(b.object)] { return f(x, y); };
      };
      return call(make, a, b);
    };
    variable.def(("__" + name + "__").c_str(), op, doc.c_str(), nb::is_operator());
    variable.def(("__r" + name + "__").c_str(),
                 [op](const Operand& b, const Operand& a) { return op(a, b); }, doc.c_str(),
                 nb::is_operator());
  };
  binary("add", "add", [](const auto& a, const auto& b) { return a + b; });
  binary("sub", "sub", [](const auto& a, const auto& b) { return a - b; });
  binary("mul", "mul", [](const auto& a, const auto& b) { return a * b; });
  binary("truediv", "div", [](const auto& a, const auto& b) { return a / b; });
  binary("pow", "pow", [](const auto& a, const auto& b) { return pow(a, b); });
  binary("matmul", "matmul", [](const auto& a, const auto& b) { return matmul(a, b); });
  variable.def(
      "__neg__",
      [](const Operand& a) {
        const auto make = [&]<class T>() { return [x = to_variable<T>(a.object)] { return -x; }; };
        return call(make, a);
      },
      "scale(x, -1)", nb::is_operator());
}

}  // namespace

void add_variable(nb::module_& m) {
  nb::class_<Var> variable(
      m, "Variable",
      "A float32 or float64 array with the graph of ops that computed it. The operators + - * / ** "
      "@ are add, sub, mul, div, pow and matmul; the other operand may be a Variable, an array or "
      "a number.");
  add_properties(variable);
  add_methods(variable);
  // An array on the left leaves the operator to the Variable on the right.
  variable.attr("__array_ufunc__") = nb::none();
  add_no_grad(m);
  add_rng(m);
  add_attention_options(m);
  add_functions(m, variable);
  add_operators(variable);
}

}  // namespace xgrad::python
