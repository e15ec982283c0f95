// Arrays and Variables between Python and xgrad: what a caller passes becomes a tensor, and a
// tensor becomes a NumPy array.
//
// A caller's array is copied, so that later changes of the array do not reach the graph. A result
// shares the tensor's memory and keeps it alive.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include <xgrad/autograd/variable.hpp>

namespace xgrad::python {

/// numpy.asarray(value).
nanobind::object as_array(nanobind::handle value);

/// Whether it is a number of Python, which takes the scalar type of what it meets.
bool is_number(nanobind::handle value);

/// Whether an array-like holds float32. Throws TypeError when it holds neither float32 nor float64.
/// A number of Python counts as float64.
bool is_single(nanobind::handle value);

/// The value of an array-like of floats or doubles, copied. Throws TypeError for another dtype.
template <class T>
std::shared_ptr<Versioned<T>> to_value(nanobind::handle value);

/// The same, converted to doubles from any dtype of numbers, as a tensor of its own.
Tensor<double> to_doubles(nanobind::handle value);

/// Integers as ids. Throws TypeError for other types, and ValueError for integers beyond 32 bits.
Ids to_ids(nanobind::handle array);

/// Booleans or integers as a mask: 1 where they are not 0. Throws TypeError for other types.
Mask to_mask(nanobind::handle array);

/// An array that shares the tensor's memory. It is read-only, since ops may need the values that it
/// shows.
template <class T>
nanobind::object to_numpy(std::shared_ptr<const Tensor<T>> tensor);

/// Held while nodes and gradients are written, which the graphs of several threads may share.
/// Recursive, since the release of an array may call Python.
std::recursive_mutex& graphs();

/// The class xgrad.Variable.
struct Var {
  std::variant<Variable<float>, Variable<double>> any;  ///< of the dtype of its array
  /// Whether layers or optimizers have it, too, so that an assignment must write into its memory.
  bool shared = false;

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
