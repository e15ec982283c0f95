#include <cmath>

#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

// An operand's shape that broadcasts to `shape`: axes set to 1, leading axes dropped.
Shape operand_shape(const Shape& shape, const Rng& rng) {
  Shape result = shape;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    if (rng.uniform(axis) < 0.3) result[axis] = 1;
  }
  const std::size_t drop = rng.uniform(100) < 0.5 ? 0 : random_size(rng / "drop", 0, shape.size());
  return Shape(result.begin() + std::ptrdiff_t(drop), result.end());
}

// A random shape. Operands take it whole or in part, so that either, both or none is broadcast.
Shape whole_shape(const Rng& rng, std::size_t n) {
  Shape shape(random_size(rng / "rank", 1, 4));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = random_size(rng / axis, 1, 3);
  shape.back() = n;
  return shape;
}

// Two operands of magnitudes from 1e-3 to 1e3.
std::vector<Tensor<double>> operands(const Rng& rng, std::size_t n) {
  const Shape shape = whole_shape(rng, n);
  const bool plain = rng.uniform(0) < 0.25;
  std::vector<Tensor<double>> result;
  for (const char* operand : {"a", "b"}) {
    const Rng own = rng / operand;
    const double size = std::pow(10, std::round(6 * own.uniform(0)) - 3);
    result.push_back(
        random_tensor(plain ? shape : operand_shape(shape, own / "shape"), own / "x", -size, size));
  }
  return result;
}

// The same with a in [0.5, 2) and b of size 0.5 to 2: a divisor away from 0, a base above it.
std::vector<Tensor<double>> away_from_zero(const Rng& rng, std::size_t n) {
  std::vector<Tensor<double>> result = operands(rng, n);
  result[0] = random_tensor(result[0].shape(), rng / "above", 0.5, 2);
  result[1] = random_tensor(result[1].shape(), rng / "beside", -1.5, 1.5);
  for (double& b : result[1]) b += b < 0 ? -0.5 : 0.5;
  return result;
}

template <class F>
OpCase broadcasting(const char* op, F f, decltype(operands)& inputs = operands) {
  const auto sample = [=](const Rng& rng, std::size_t n) { return Sample(f, inputs(rng, n)); };
  const auto last_axis = [f] { f(std::vector{ones({2, 3}), ones({2})}); };
  const auto inner_axis = [f] { f(std::vector{ones({3, 2, 3}), ones({3, 1})}); };
  return {.op = op, .sample = sample, .wrong_calls = {last_axis, inner_axis}};
}

Sample square_sample(const Rng& rng, std::size_t n) {
  return Sample([](const auto& x) { return mul(x[0], x[0]); },
                {random_tensor({2, n}, rng / "x", -2, 2)});
}

Sample where_sample(const Rng& rng, std::size_t n) {
  const Shape shape = whole_shape(rng, n);
  const Mask condition = random_mask(operand_shape(shape, rng / "mask"), rng / "condition", 0.5);
  return Sample([condition](const auto& in) { return where(condition, in[0], in[1]); },
                {random_tensor(operand_shape(shape, rng / "x" / "shape"), rng / "x"),
                 random_tensor(operand_shape(shape, rng / "y" / "shape"), rng / "y")});
}

OpCase where_case() {
  const Mask row = full<std::uint8_t>({3}, 1), none = full<std::uint8_t>({2, 0}, 1);
  const auto condition = [row] { where(row, ones({2}), ones({1})); };
  const auto sides = [row] { where(row, ones({2, 3}), ones({2})); };
  const Sample nothing([none](const auto& in) { return where(none, in[0], in[1]); },
                       {zeros<double>({2, 0}), full({1}, 1.0)});
  return {.op = "where",
          .sample = where_sample,
          .wrong_calls = {condition, sides},
          .zero_extents = {nothing}};
}

Sample scale_sample(const Rng& rng, std::size_t n) {
  const double c = 3 * rng.uniform(0) - 1.5;
  const Shape shape{random_size(rng / "rows", 1, 3), n};
  return Sample([c](const auto& x) { return scale(x[0], c); },
                {random_tensor(shape, rng / "x", -2, 2)});
}

}  // namespace

std::vector<OpCase> arithmetic_cases() {
  const auto wrong = [] { mul(ones({2}), ones({3})); };
  return {
      broadcasting("add", [](const auto& x) { return add(x[0], x[1]); }),
      broadcasting("sub", [](const auto& x) { return sub(x[0], x[1]); }),
      broadcasting("mul", [](const auto& x) { return mul(x[0], x[1]); }),
      broadcasting(
          "div", [](const auto& x) { return div(x[0], x[1]); }, away_from_zero),
      broadcasting(
          "pow", [](const auto& x) { return pow(x[0], x[1]); }, away_from_zero),
      {.op = "mul", .variant = "by_itself", .sample = square_sample, .wrong_calls = {wrong}},
      {.op = "scale", .sample = scale_sample},
      where_case(),
  };
}

}  // namespace xgrad::test
