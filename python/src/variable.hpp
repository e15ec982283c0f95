// Var: a Variable of either scalar type, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <variant>

#include <xgrad/autograd/variable.hpp>
#include <xgrad/python/src/arrays.hpp>

namespace xgrad::python {

/// The class xgrad.Variable.
struct Var {
  std::variant<Variable<float>, Variable<double>> any;  ///< of the dtype of its array

  /// Calls f with the Variable.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), any);
  }
};

/// The Variable of this scalar type that a Var, an array-like or a number stands for; None is one
/// without a value. Throws TypeError for another scalar type.
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

}  // namespace xgrad::python
