// Calls of functions over Variable<T> with what Python passes.
//
// An array-like may stand for a Variable. T is the scalar type of the first operand that has one.
// The interpreter lock is free while a function computes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/python/src/module.hpp>

namespace xgrad::python {

/// The kind of argument that an Object holds.
enum class Kind { operand, optional_operand, ids, mask, optional_mask, array };

/// An object of Python, whose conversion waits until the scalar type is known.
template <Kind kind>
struct Object {
  nanobind::object object;
};
using Operand = Object<Kind::operand>;                    ///< a Variable or an array-like
using OptionalOperand = Object<Kind::optional_operand>;   ///< the same, or None
using IdsOperand = Object<Kind::ids>;                     ///< an array of integers
using MaskOperand = Object<Kind::mask>;                   ///< an array of booleans or integers
using OptionalMaskOperand = Object<Kind::optional_mask>;  ///< the same, or None, which keeps all

/// The Variables of several operands.
template <class T>
std::vector<Variable<T>> to_variables(const std::vector<Operand>& operands) {
  std::vector<Variable<T>> made;
  for (const Operand& operand : operands) made.push_back(to_variable<T>(operand.object));
  return made;
}
/// A mask to share; null for None.
inline std::shared_ptr<const Mask> to_shared_mask(nanobind::handle mask) {
  return mask.is_none() ? nullptr : std::make_shared<const Mask>(to_mask(mask));
}

/// Whether an operand that decides the scalar type is float32; nothing if it is a number or None.
inline std::optional<bool> is_float(nanobind::handle operand) {
  if (operand.is_none() || is_number(operand)) return std::nullopt;
  Var* var = nullptr;
  return nanobind::try_cast(operand, var) ? var->any.index() == 0 : is_single(operand);
}
template <Kind kind>
std::optional<bool> is_float(const Object<kind>& operand) {
  return is_float(operand.object);
}
/// The same for the first of several that has a scalar type.
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

/// Returns the result of the function that make<T>() returns, which holds its arguments. T is the
/// scalar type of the first of the operands that has one, else double.
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

/// The shape for x in which -1 stands for the size that the others leave. Throws ShapeError when
/// there is none.
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

/// The reduction y of x along an axis, or of all elements; with `keepdims`, a reduced axis stays
/// with the size 1.
template <class T>
Variable<T> reduced(const Variable<T>& x, std::optional<std::ptrdiff_t> axis, bool keepdims,
                    const Variable<T>& y) {
  if (!keepdims) return y;
  Shape shape(axis ? x.shape() : Shape(x.shape().size(), 1));
  if (axis) shape[std::size_t(*axis < 0 ? *axis + std::ptrdiff_t(shape.size()) : *axis)] = 1;
  return reshape(y, shape);
}

/// The member of an enum, which count from 0, with this name. Throws ShapeError, which names all.
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
