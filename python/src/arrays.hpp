// Converts arrays and Variables between Python and xgrad, and calls functions over Variable<T> with
// arguments from Python.
//
// A caller's array is copied, so that later changes of the array do not reach the graph. An array
// that xgrad returns shares the memory of its tensor and keeps this memory alive. An array-like may
// be passed instead of a Variable. T is the scalar type of the first operand with a scalar type;
// Python numbers have no scalar type. The GIL is released while a function computes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/python/src/module.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad::python {

/// numpy.asarray(value).
nanobind::object as_array(nanobind::handle value);

/// Whether `value` is a Python number. A number takes the scalar type of the other operand.
bool is_number(nanobind::handle value);

/// Whether an array-like holds float32. Throws TypeError when it holds neither float32 nor float64.
/// A Python number counts as float64.
bool is_single(nanobind::handle value);

/// A copy of an array-like of T, or of a Python number. Throws TypeError if the dtype is not T.
template <class T>
std::shared_ptr<Versioned<T>> to_value(nanobind::handle value);

/// A copy of an array-like as a tensor of doubles, converted from any dtype of numbers.
Tensor<double> to_doubles(nanobind::handle value);

/// Integers as ids. Throws TypeError for other types, and ValueError for integers beyond 32 bits.
Ids to_ids(nanobind::handle array);

/// Booleans or integers as a mask: 1 where they are not 0. Throws TypeError for other types.
Mask to_mask(nanobind::handle array);

/// An array that shares the tensor's memory. It is read-only, since ops may need its values.
template <class T>
nanobind::object to_numpy(std::shared_ptr<const Tensor<T>> tensor);

/// Locks out other threads while this thread writes nodes and gradients, because graphs of several
/// threads may share them.
struct GraphLock {
  static inline std::recursive_mutex mutex;
  const Unlocked unlocked = {};
  const std::lock_guard<std::recursive_mutex> lock{mutex};
};

/// The class xgrad.Variable.
struct Var {
  std::variant<Variable<float>, Variable<double>> any;  ///< float32 or float64 in Python
  /// Whether a layer or optimizer shares the memory. If so, an assigned value is copied into it.
  bool shared = false;

  /// Calls f with the Variable.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), any);
  }
};

/// Converts a Var, an array-like or a number to a Variable<T>. None gives a Variable without a
/// value. Throws TypeError if the scalar type is not T.
template <class T>
Variable<T> to_variable(nanobind::handle operand) {
  if (operand.is_none()) return {};
  Var* var = nullptr;
  if (!nanobind::try_cast(operand, var)) return Variable<T>(to_value<T>(operand), nullptr);
  if (const auto* same = std::get_if<Variable<T>>(&var->any)) return *same;
  throw nanobind::type_error(
      sizeof(T) == sizeof(float)
          ? "expected a Variable of float32, as the other arguments are, got float64"
          : "expected a Variable of float64, as the other arguments are, got float32");
}

/// The kind of argument that an Object holds.
enum class Kind { operand, optional_operand, ids, mask, optional_mask, array };

/// A Python object that is converted later, when the scalar type is known.
template <Kind kind>
struct Object {
  nanobind::object object;
};
using Operand = Object<Kind::operand>;                    ///< a Variable or an array-like
using OptionalOperand = Object<Kind::optional_operand>;   ///< a Variable, an array-like or None
using IdsOperand = Object<Kind::ids>;                     ///< an array of integers
using MaskOperand = Object<Kind::mask>;                   ///< an array of booleans or integers
using OptionalMaskOperand = Object<Kind::optional_mask>;  ///< a MaskOperand, or None: no mask

/// The Variables of several operands.
template <class T>
std::vector<Variable<T>> to_variables(const std::vector<Operand>& operands) {
  std::vector<Variable<T>> made;
  for (const Operand& operand : operands) made.push_back(to_variable<T>(operand.object));
  return made;
}
/// A mask as a shared pointer; null for None.
inline std::shared_ptr<const Mask> to_shared_mask(nanobind::handle mask) {
  return mask.is_none() ? nullptr : std::make_shared<const Mask>(to_mask(mask));
}

/// Whether an operand is float32 (true) or float64 (false); nothing for a number or None, which do
/// not decide the scalar type.
inline std::optional<bool> is_float(nanobind::handle operand) {
  if (operand.is_none() || is_number(operand)) return std::nullopt;
  Var* var = nullptr;
  return nanobind::try_cast(operand, var) ? var->any.index() == 0 : is_single(operand);
}
template <Kind kind>
std::optional<bool> is_float(const Object<kind>& operand) {
  return is_float(operand.object);
}
/// is_float() of the first operand of a list that has a scalar type; nothing if no operand has one.
inline std::optional<bool> is_float(const std::vector<Operand>& operands) {
  for (const Operand& operand : operands) {
    if (const auto found = is_float(operand)) return found;
  }
  return std::nullopt;
}

/// The Python object for a result.
template <class T>
Var returned(Variable<T> result) {
  return Var{std::move(result)};
}
template <class T>
Object<Kind::array> returned(Tensor<T> result) {
  return {to_numpy<T>(std::make_shared<const Tensor<T>>(std::move(result)))};
}

/// Calls the function that make<T>() returns, and returns its result. The returned function takes
/// no arguments. T is the scalar type of the first operand with a scalar type; double without any.
template <class Make, class... Operands>
auto call(const Make& make, const Operands&... operands) {
  std::optional<bool> single;
  ((single = single ? single : is_float(operands)), ...);
  const auto compute = [](const auto& f) {
    return returned([&] {
      const Unlocked unlocked;
      return f();
    }());
  };
  return single.value_or(false) ? compute(make.template operator()<float>())
                                : compute(make.template operator()<double>());
}

/// The shape that reshape() gives x: -1 in `sizes` becomes the size that fits the number of
/// elements. Throws ShapeError if no size fits.
template <class T>
Shape shape_for(const Variable<T>& x, const std::vector<std::ptrdiff_t>& sizes) {
  Shape shape(sizes.begin(), sizes.end());
  std::optional<std::size_t> open;
  std::size_t others = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check_shape(sizes[i] >= (open ? 0 : -1),
                "reshape: expected sizes of at least 0, and -1 at most once");
    if (sizes[i] < 0) {
      open = i;
    } else {
      others *= shape[i];
    }
  }
  if (!open) return shape;
  const std::size_t count = x.value().size();
  check_shape(others > 0 && count % others == 0, "reshape: no size in place of -1 gives the ",
              count, " elements of ", x.shape());
  shape[*open] = count / others;
  return shape;
}

/// y is x reduced along `axis` or, without an axis, over all elements. Returns y; with `keepdims`,
/// y has each reduced axis again, with the size 1.
template <class T>
Variable<T> reduced(const Variable<T>& x, std::optional<std::ptrdiff_t> axis, bool keepdims,
                    const Variable<T>& y) {
  if (!keepdims) return y;
  Shape shape(axis ? x.shape() : Shape(x.shape().size(), 1));
  if (axis) shape[std::size_t(*axis < 0 ? *axis + std::ptrdiff_t(shape.size()) : *axis)] = 1;
  return reshape(y, shape);
}

/// The member of an enum whose number is the index of `name` in `names`. If `names` lacks `name`,
/// throws ShapeError, which names `parameter` and lists all names.
template <class Enum>
Enum enum_of(const char* parameter, const std::string& name,
             const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  check_shape(found != names.end(), parameter, ": expected one of ", joined(names), ", got ", name);
  return Enum(found - names.begin());
}

}  // namespace xgrad::python

namespace nanobind::detail {

template <xgrad::python::Kind kind>
constexpr auto name_of_object() {
  using Kind = xgrad::python::Kind;
  constexpr bool variable = kind <= Kind::optional_operand;
  constexpr bool optional = kind == Kind::optional_operand || kind == Kind::optional_mask;
  if constexpr (kind == Kind::array) {
    return const_name("numpy.ndarray");
  } else {
    return const_name<variable>("Variable | ", "") + const_name("numpy.typing.ArrayLike") +
           const_name<optional>(" | None", "");
  }
}

// Takes any object.
template <xgrad::python::Kind kind>
struct type_caster<xgrad::python::Object<kind>> {
  NB_TYPE_CASTER(xgrad::python::Object<kind>, name_of_object<kind>())

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return true;
  }
  static handle from_cpp(const Value& result, rv_policy, cleanup_list*) noexcept {
    return handle(result.object).inc_ref();
  }
};

}  // namespace nanobind::detail
