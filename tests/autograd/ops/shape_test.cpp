// reshape, transpose, slice, select, concat.
#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

// 0, 1, 2, ...
Variable<double> counting(const Shape& shape) {
  Tensor<double> x = empty<double>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = double(i);
  return Variable<double>(x, true);
}

}  // namespace

TEST(Reshape, KeepsTheOrderOfTheElements) {
  const auto x = counting({2, 3});
  EXPECT_TRUE(same_bits(reshape(x, {3, 1, 2}).value(), counting({3, 1, 2}).value()));
  reshape(x, {6}).backward(counting({6}).value());
  EXPECT_TRUE(same_bits(x.grad(), x.value()));
  EXPECT_TRUE(throws_with<ShapeError>([&] { reshape(x, {7}); },
                                      "reshape: (2, 3) has 6 elements, (7) has 7"));
}

TEST(Transpose, MovesEveryElement) {
  const auto x = counting({2, 3, 5});
  const auto y = transpose(x, {2, 0, 1});
  ASSERT_EQ(y.shape(), (Shape{5, 2, 3}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(y.value()(k, i, j), x.value()(i, j, k));
    }
  }
  y.backward(y.value());
  EXPECT_TRUE(same_bits(x.grad(), x.value()));
}

TEST(Transpose, LargeTensorsAndBack) {
  const auto x = counting({67, 129, 5});
  const auto y = transpose(transpose(x, {1, 2, 0}), {2, 0, 1});
  EXPECT_TRUE(same_bits(y.value(), x.value()));
}

TEST(Transpose, OfAScalarAndOfEmptiness) {
  EXPECT_EQ(transpose(counting({}), {}).value()(), 0);
  EXPECT_EQ(transpose(counting({3, 0, 2}), {1, 0, 2}).shape(), (Shape{0, 3, 2}));
}

TEST(Transpose, SaysWhatIsWrongWithTheAxes) {
  const auto x = counting({2, 3});
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        transpose(x, {1, 1});
      },
      "transpose: axis 1 of shape (2, 3) is named twice"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { transpose(x, {0}); },
                                      "transpose: expected 2 axes for shape (2, 3), got 1"));
}

TEST(Axes, CountFromTheEndIfNegative) {
  const auto x = counting({2, 3, 5});
  const Ids ids = tensor<std::int32_t>({2}, {1, 0});
  EXPECT_EQ(slice(x, -2, 1, 3).value(), slice(x, 1, 1, 3).value());
  EXPECT_EQ(select(x, -3, 1).value(), select(x, 0, 1).value());
  EXPECT_EQ(concat<double>({x, x}, -1).value(), concat<double>({x, x}, 2).value());
  EXPECT_EQ(take(x, -1, ids).value(), take(x, 2, ids).value());
  EXPECT_EQ(sum(x, -2).value(), sum(x, 1).value());
  EXPECT_EQ(mean(x, -1).value(), mean(x, 2).value());
  EXPECT_EQ(argmax(x.value(), -1), argmax(x.value(), 2));
  EXPECT_EQ(transpose(x, {0, -1, 1}).value(), transpose(x, {0, 2, 1}).value());
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { sum(x, -4); }, "sum: there is no axis -4 in shape (2, 3, 5)"));
}

// Row r is taken r % 3 times, so each of its elements has the gradient r % 3. A task of backward
// owns at most 32 columns of such a table.
TEST(Take, CountsTheRowsOfALongTable) {
  std::vector<std::int32_t> rows;
  for (std::int32_t r = 0; r < 700; ++r) rows.insert(rows.end(), std::size_t(r % 3), r);
  Ids ids = empty<std::int32_t>({rows.size()});
  std::ranges::copy(rows, ids.data());
  for (const std::size_t columns : {31, 32, 33, 63, 65}) {
    const auto x = counting({700, columns});
    sum(take(x, 0, ids)).backward();
    for (std::size_t r = 0; r < 700; ++r) {
      for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(x.grad()(r, c), r % 3) << r << " " << c;
    }
  }
}

TEST(Slice, TakesARangeAlongAnyAxis) {
  const auto x = counting({2, 3, 2});
  EXPECT_TENSOR_NEAR(slice(x, 0, 1, 2).value(), tensor({1, 3, 2}, {6., 7., 8., 9., 10., 11.}), 0);
  EXPECT_TENSOR_NEAR(slice(x, 1, 1, 3).value(),
                     tensor({2, 2, 2}, {2., 3., 4., 5., 8., 9., 10., 11.}), 0);
  EXPECT_TENSOR_NEAR(slice(x, 2, 0, 1).value(), tensor({2, 3, 1}, {0., 2., 4., 6., 8., 10.}), 0);
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] { slice(x, 1, 2, 4); },
      "slice: axis 1 of shape (2, 3, 2): expected begin < end <= 3, got begin 2, end 4"));
}

TEST(Slice, GradientIsZeroOutside) {
  const auto x = counting({4});
  slice(x, 0, 1, 3).backward(tensor({2}, {5.0, 6.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({4}, {0.0, 5.0, 6.0, 0.0}), 0);
}

TEST(Select, DropsTheAxis) {
  const auto x = counting({2, 3, 2});
  const auto y = select(x, 1, 2);
  EXPECT_TENSOR_NEAR(y.value(), tensor({2, 2}, {4.0, 5.0, 10.0, 11.0}), 0);
  y.backward(full({2, 2}, 1.0));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 3, 2}, {0., 0., 0., 0., 1., 1., 0., 0., 0., 0., 1., 1.}),
                     0);
  EXPECT_TRUE(throws_with<ShapeError>([&] { select(x, 3, 0); },
                                      "select: there is no axis 3 in shape (2, 3, 2)"));
}

TEST(Select, CountsNegativeIndicesFromTheEnd) {
  const auto x = counting({2, 3, 2});
  EXPECT_EQ(select(x, 1, -1).value(), select(x, 1, 2).value());
  EXPECT_EQ(select(x, 1, -3).value(), select(x, 1, 0).value());
  for (const std::ptrdiff_t index : {-4, 3}) {
    EXPECT_TRUE(throws_with<ShapeError>([&] { select(x, 1, index); },
                                        "select: axis 1 of shape (2, 3, 2): expected an index from "
                                        "-3 to 2, got " +
                                            std::to_string(index)));
  }
}

TEST(Select, IsTheBracketsOfTheFirstAxis) {
  const auto x = counting({3, 2});
  EXPECT_EQ(x[0].value(), select(x, 0, 0).value());
  EXPECT_EQ(x[-1].value(), select(x, 0, 2).value());
  EXPECT_EQ(x[2][-1].item(), 5);
  x[1][0].backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({3, 2}, {0., 0., 1., 0., 0., 0.}), 0);
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { x[3]; }, "shape (3, 2): expected an index from -3 to 2"));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { x[0][0][0]; }, "select: there is no axis 0 in shape ()"));
}

TEST(Concat, JoinsAlongAnyAxis) {
  const auto a = counting({2, 1}), b = counting({2, 2});
  EXPECT_TENSOR_NEAR(concat<double>({a, b}, 1).value(), tensor({2, 3}, {0., 0., 1., 1., 2., 3.}),
                     0);
  EXPECT_TENSOR_NEAR(concat<double>({b, b}, 0).value(),
                     tensor({4, 2}, {0., 1., 2., 3., 0., 1., 2., 3.}), 0);
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        concat<double>({a, b}, 0);
      },
      "concat: expected equal shapes except along axis 0, got (2, 1) and (2, 2)"));
}

TEST(Concat, ConstantPartsGetNoGradient) {
  const Variable<double> constant(tensor({1}, {7.0}));
  const auto x = counting({2});
  concat<double>({x, constant, x}, 0).backward(tensor({5}, {1.0, 2.0, 3.0, 4.0, 5.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2}, {5.0, 7.0}), 0);
}

// The features of head h are the slice [h d_h, (h + 1) d_h) of the packed ones.
TEST(Slice, S0_5_PackedHeadsAreSlicesOfTheWeight) {
  constexpr std::size_t heads = 3, head_width = 2, width = heads * head_width;
  const Rng rng(5);
  const Variable<double> x(random_tensor({4, width}, rng / "x"), true);
  const Variable<double> weight(random_tensor({width, width}, rng / "w"), true);
  std::vector<Variable<double>> per_head;
  for (std::size_t h = 0; h < heads; ++h) {
    per_head.push_back(matmul(x, slice(weight, 1, h * head_width, (h + 1) * head_width)));
  }
  const Tensor<double> dy = random_tensor({4, width}, rng / "dy");
  const auto apart = concat(per_head, 1);
  apart.backward(dy);
  const Tensor<double> dweight = weight.grad(), dx = x.grad();
  weight.zero_grad();
  x.zero_grad();

  const auto packed = matmul(x, weight);
  packed.backward(dy);
  EXPECT_TENSOR_NEAR(apart.value(), packed.value(), 1e-12);
  EXPECT_TENSOR_NEAR(dweight, weight.grad(), 1e-12);
  EXPECT_TENSOR_NEAR(dx, x.grad(), 1e-12);
}

}  // namespace xgrad::test
