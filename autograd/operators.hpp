// + - * / for two Variables, or a Variable and a number in either order; pow() with a number.
#pragma once

#include <type_traits>

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace detail {

template <class T>
Variable<T> constant(T value) {
  return Variable<T>(full(Shape{}, value));
}

}  // namespace detail

/// add(a, b)
template <class T>
Variable<T> operator+(const Variable<T>& a, const Variable<T>& b) {
  return add(a, b);
}
/// x + c, elementwise
template <class T>
Variable<T> operator+(const Variable<T>& x, std::type_identity_t<T> c) {
  return add(x, detail::constant<T>(c));
}
/// c + x, elementwise
template <class T>
Variable<T> operator+(std::type_identity_t<T> c, const Variable<T>& x) {
  return x + c;
}

/// sub(a, b)
template <class T>
Variable<T> operator-(const Variable<T>& a, const Variable<T>& b) {
  return sub(a, b);
}
/// x - c, elementwise
template <class T>
Variable<T> operator-(const Variable<T>& x, std::type_identity_t<T> c) {
  return sub(x, detail::constant<T>(c));
}
/// c - x, elementwise
template <class T>
Variable<T> operator-(std::type_identity_t<T> c, const Variable<T>& x) {
  return sub(detail::constant<T>(c), x);
}
/// scale(x, -1)
template <class T>
Variable<T> operator-(const Variable<T>& x) {
  return scale(x, T(-1));
}

/// mul(a, b)
template <class T>
Variable<T> operator*(const Variable<T>& a, const Variable<T>& b) {
  return mul(a, b);
}
/// scale(x, c)
template <class T>
Variable<T> operator*(const Variable<T>& x, std::type_identity_t<T> c) {
  return scale(x, c);
}
/// scale(x, c)
template <class T>
Variable<T> operator*(std::type_identity_t<T> c, const Variable<T>& x) {
  return scale(x, c);
}

/// div(a, b)
template <class T>
Variable<T> operator/(const Variable<T>& a, const Variable<T>& b) {
  return div(a, b);
}
/// x / c, elementwise
template <class T>
Variable<T> operator/(const Variable<T>& x, std::type_identity_t<T> c) {
  return div(x, detail::constant<T>(c));
}
/// c / x, elementwise
template <class T>
Variable<T> operator/(std::type_identity_t<T> c, const Variable<T>& x) {
  return div(detail::constant<T>(c), x);
}

/// x^c, elementwise
template <class T>
Variable<T> pow(const Variable<T>& x, std::type_identity_t<T> c) {
  return pow(x, detail::constant<T>(c));
}

}  // namespace xgrad
