#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {
namespace {

using test::message_of;

TEST(Tensors, AreCountedByTheirElements) {
  EXPECT_EQ(count({}), 0);
  EXPECT_EQ(
      count({{"a", zeros<float>({2, 3})}, {"b", zeros<double>({})}, {"c", zeros<float>({0})}}), 7);
}

TEST(Tensors, HaveAShapeInEitherPrecision) {
  EXPECT_EQ(shape_of(AnyTensor(zeros<float>({2, 3}))), (Shape{2, 3}));
  EXPECT_EQ(shape_of(AnyTensor(zeros<double>({4}))), (Shape{4}));
}

template <class T>
void expect_named(T bad) {
  Tensor<T> x = zeros<T>({2, 3});
  EXPECT_NO_THROW(check_finite<FormatError>("a", AnyTensor(x)));
  x.data()[4] = bad;
  x.data()[5] = bad;
  const auto check = [&]<class E>() {
    return message_of<E>([&] { check_finite<E>("a", AnyTensor(x)); });
  };
  const std::string expected = "a: entry 4 of shape (2, 3) is not finite";
  EXPECT_EQ(check.template operator()<NumericError>(), expected);
  EXPECT_EQ(check.template operator()<CheckpointError>(), expected);
  EXPECT_EQ(check.template operator()<FormatError>(), expected);
}

TEST(Tensors, TheFirstEntryThatIsNotFiniteIsNamed) {
  expect_named(std::numeric_limits<float>::quiet_NaN());
  expect_named(-std::numeric_limits<float>::infinity());
  expect_named(std::numeric_limits<double>::quiet_NaN());
  expect_named(std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace xgrad
