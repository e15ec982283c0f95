// Shapes, and elements by their index.
#include <xgrad/autograd/tensor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#if __has_include(<xtensor/xio.hpp>)
#include <xtensor/xio.hpp>
#else
#include <xtensor/io/xio.hpp>
#endif

#include <xgrad/autograd/check.hpp>

namespace xgrad {

void detail::Message::add(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  text_.append(buffer.data(), end);
}

std::size_t size_of(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::size_t size = 1;
  for (const std::size_t extent : shape) {
    check_shape(!__builtin_mul_overflow(size, extent, &size), "shape ", shape,
                " has more elements than can be counted");
  }
  return size;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + ")";
}

Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (std::size_t i = 1; i <= rank; ++i) {  // from the last axis to the first
    const std::size_t in_a = i <= a.size() ? a[a.size() - i] : 1;
    const std::size_t in_b = i <= b.size() ? b[b.size() - i] : 1;
    check_shape(in_a == in_b || in_a == 1 || in_b == 1, op, ": shapes do not broadcast: ", a,
                " and ", b);
    result[rank - i] = in_a == 1 ? in_b : in_a;
  }
  return result;
}

namespace {

// Whether x is infinite or NaN: its exponent bits are all ones. Tests a long double as a double.
template <class T>
bool is_special(T x) {
  using Float = std::conditional_t<sizeof(T) == 4, float, double>;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits exponent = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  return (std::bit_cast<Bits>(Float(x)) & exponent) == exponent;
}

template <class T>
bool any_special(const T* x, std::size_t n) {
  unsigned found = 0;
#pragma omp simd reduction(| : found)
  for (std::size_t i = 0; i < n; ++i) found |= unsigned(is_special(x[i]));
  return found != 0;
}

}  // namespace

std::string index_text(const Shape& shape, std::size_t flat) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0; flat /= shape[axis]) {
    text = std::to_string(flat % shape[axis]) + (text.empty() ? "" : ", ") + text;
  }
  return "[" + text + "]";
}

bool is_finite_bits(double x) {
  return !is_special(x);
}

template <class T>
std::optional<std::size_t> first_not_finite(const Tensor<T>& x) {
  if (!any_special(x.data(), x.size())) return std::nullopt;
  const T* end = x.data() + x.size();
  return std::size_t(std::find_if(x.data(), end, is_special<T>) - x.data());
}

template <class T>
std::ostream& operator<<(std::ostream& out, const Tensor<T>& x) {
  return xt::pretty_print(x, out);
}
template std::ostream& operator<<(std::ostream&, const Ids&);
template std::ostream& operator<<(std::ostream&, const Mask&);

#define XGRAD_INSTANTIATE(T)                                          \
  template std::ostream& operator<<(std::ostream&, const Tensor<T>&); \
  template std::optional<std::size_t> first_not_finite(const Tensor<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
