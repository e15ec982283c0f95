// define(): makes a function of Python from a generic lambda over Variable<T>.
//
// The lambda's parameters say what Python passes: Variable<T> stands for a Variable or an
// array-like, Ids and Mask for an array, all else for itself. T is that of the first operand.
// The interpreter lock is free while the lambda runs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/python/src/unlocked.hpp>
#include <xgrad/python/src/variable.hpp>

namespace xgrad::python {

/// What an Object is.
enum class Kind {
  operand,           ///< a Variable or an array-like
  optional_operand,  ///< the same, or None
  ids,               ///< an array of integers
  mask,              ///< an array of booleans or integers
  optional_mask,     ///< the same, or None for a mask that keeps all
  array              ///< a NumPy array that a function returns
};

/// An object of Python, whose conversion waits until the scalar type is known.
template <Kind kind>
struct Object {
  nanobind::object object;
};

/// The parameter of a lambda for an optional operand: absent, it has no value.
template <class T>
struct Maybe : Variable<T> {};

using SharedMask = std::shared_ptr<const Mask>;

namespace detail {

// The type that nanobind converts a Python argument to, and its conversion to the parameter.
template <class P>
struct Parameter {
  using Taken = P;
  static P make(const P& taken) { return taken; }
};
template <class T>
struct Parameter<Variable<T>> {
  using Taken = Object<Kind::operand>;
  static Variable<T> make(const Taken& taken) { return to_variable<T>(taken.object); }
};
template <class T>
struct Parameter<Maybe<T>> {
  using Taken = Object<Kind::optional_operand>;
  static Maybe<T> make(const Taken& taken) { return {to_variable<T>(taken.object)}; }
};
template <class T>
struct Parameter<std::vector<Variable<T>>> {
  using Taken = std::vector<Object<Kind::operand>>;
  static std::vector<Variable<T>> make(const Taken& taken) {
    std::vector<Variable<T>> made;
    for (const auto& one : taken) made.push_back(to_variable<T>(one.object));
    return made;
  }
};
template <>
struct Parameter<Ids> {
  using Taken = Object<Kind::ids>;
  static Ids make(const Taken& taken) { return to_ids(taken.object); }
};
template <>
struct Parameter<Mask> {
  using Taken = Object<Kind::mask>;
  static Mask make(const Taken& taken) { return to_mask(taken.object); }
};
template <>
struct Parameter<SharedMask> {
  using Taken = Object<Kind::optional_mask>;
  static SharedMask make(const Taken& taken) {
    return taken.object.is_none() ? nullptr : std::make_shared<const Mask>(to_mask(taken.object));
  }
};
template <class P>
using Taken = typename Parameter<std::decay_t<P>>::Taken;

// The first operand that tells a scalar type decides: a Variable or an array, not a number.
struct ScalarType {
  std::optional<bool> single;

  template <Kind kind>
  void see(const Object<kind>& operand) {
    const nanobind::handle object = operand.object;
    if (kind > Kind::optional_operand || single || object.is_none() || is_number(object)) return;
    Var* var = nullptr;
    single = nanobind::try_cast(object, var) ? var->any.index() == 0 : is_single(object);
  }
  void see(const std::vector<Object<Kind::operand>>& operands) {
    for (const auto& operand : operands) see(operand);
  }
  template <class Other>
  void see(const Other&) {}
};

// The Python object for a result.
template <class T>
Var returned(Variable<T> result) {
  return Var{std::move(result)};
}
template <class T>
Object<Kind::array> returned(Tensor<T> result) {
  return {to_numpy<T>(std::make_shared<const Tensor<T>>(std::move(result)))};
}

template <class... P, class F, class... Args>
auto call(const F& f, const Args&... args) {
  std::tuple<std::decay_t<P>...> made{Parameter<std::decay_t<P>>::make(args)...};
  return returned([&] {
    const Unlocked unlocked;
    return std::apply(f, made);
  }());
}

template <class Scope, class F, class R32, class R64, class... P32, class... P64, class... Extra>
void define(Scope& scope, const char* name, const char* doc, F f, R32 (F::*)(P32...) const,
            R64 (F::*)(P64...) const, const Extra&... extra) {
  scope.def(
      name,
      [f](const Taken<P32>&... args) {
        ScalarType type;
        (type.see(args), ...);
        return type.single.value_or(false) ? call<P32...>(f, args...) : call<P64...>(f, args...);
      },
      doc, extra...);
}

}  // namespace detail

/// Adds a function or method with this docstring; `extra` names the parameters and gives their
/// defaults.
template <class Scope, class F, class... Extra>
void define(Scope& scope, const char* name, const char* doc, F f, const Extra&... extra) {
  detail::define(scope, name, doc, f, &F::template operator()<float>,
                 &F::template operator()<double>, extra...);
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

// Takes any object.
template <xgrad::python::Kind kind>
struct type_caster<xgrad::python::Object<kind>> {
  using Kind = xgrad::python::Kind;
  using Value = xgrad::python::Object<kind>;
  template <class T>
  using Cast = movable_cast_t<T>;
  template <class T>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator Value*() { return &value; }
  explicit operator Value&() { return value; }
  explicit operator Value&&() { return std::move(value); }

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return true;
  }
  static handle from_cpp(const Value& result, rv_policy, cleanup_list*) noexcept {
    return handle(result.object).inc_ref();
  }

  Value value;

  static constexpr auto named() {
    if constexpr (kind == Kind::array) {
      return const_name("numpy.ndarray");
    } else {
      return const_name<kind <= Kind::optional_operand>("Variable | ", "") +
                         const_name("numpy.typing.ArrayLike") + const_name <
                     kind ==
                 Kind::optional_operand ||
             kind == Kind::optional_mask > (" | None", "");
    }
  }
  static constexpr auto Name = named();
};

}  // namespace nanobind::detail
