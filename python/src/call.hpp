// Calls of functions over Variable<T> with what Python passes.
//
// An array-like may stand for a Variable. T is the scalar type of the first operand that has one.
// The interpreter lock is free while a function computes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/ops.hpp>
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

/// An axis as the functions of ops.hpp count it. A negative one counts from the end; one that is
/// out of range is left for the op to refuse.
template <class T>
std::size_t axis_of(const Variable<T>& x, std::ptrdiff_t axis) {
  return std::size_t(axis < 0 ? axis + std::ptrdiff_t(x.shape().size()) : axis);
}
/// The same for the first of several parts.
template <class T>
std::size_t axis_of(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis) {
  return parts.empty() ? 0 : axis_of(parts[0], axis);
}

/// The kind of gelu() with this name. Throws ShapeError.
inline Gelu gelu_of(const std::string& kind) {
  check_shape(kind == "exact" || kind == "tanh", "gelu: expected kind exact or tanh, got ", kind);
  return kind == "exact" ? Gelu::exact : Gelu::tanh;
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
