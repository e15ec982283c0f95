#include <xgrad/autograd/tensor.hpp>

#include <algorithm>
#include <array>
#include <charconv>

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

}  // namespace xgrad
