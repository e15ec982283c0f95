#include <xgrad/autograd/kernels/element.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

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

#define XGRAD_INSTANTIATE(T) template std::optional<std::size_t> first_not_finite(const Tensor<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
