#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
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

const Array kNumbers{.extents = {2, 3}, .values = {1, -2, 0.5, 0, 1e300, 3}, .whole = true};
const Array kTexts{.extents = {2}, .texts = {"", std::string("a\0b", 3)}, .text = true};
const Array kSingle{.extents = {}, .values = {0.25}, .single = true};

TEST(Array, ComesBackFromItsBytes) {
  for (const Array& array : {kNumbers, kTexts, kSingle}) {
    const Array back = unpack(pack(array));
    EXPECT_EQ(back.extents, array.extents);
    EXPECT_EQ(back.values, array.values);
    EXPECT_EQ(back.texts, array.texts);
    EXPECT_EQ(back.text, array.text);
    EXPECT_EQ(back.whole, array.whole);
    EXPECT_EQ(back.single, array.single);
  }
}

TEST(Array, OtherBytesAreRefused) {
  for (const Array& array : {kNumbers, kTexts, kSingle}) {
    const std::string bytes = pack(array);
    EXPECT_THROW(unpack(bytes + "x"), FormatError);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(unpack(bytes.substr(0, size)), FormatError) << size;
    }
  }
  std::string vast = pack(kNumbers);
  vast[3 + 8 + 7] = 0x10;  // 2^60 rows
  EXPECT_THROW(unpack(vast), FormatError);
  vast[3] = 33;  // axes
  EXPECT_THROW(unpack(vast), FormatError);
}

TEST(Array, BecomesATensorOfItsPrecision) {
  const NamedTensor named = to_tensor("a", kSingle);
  EXPECT_EQ(named.name, "a");
  EXPECT_EQ(std::get<Tensor<float>>(named.tensor).data()[0], 0.25f);
  Array array{.extents = {1, 2}, .values = {1, 2}};
  EXPECT_EQ(shape_of(to_tensor("a", array).tensor), (Shape{1, 2}));
  EXPECT_TRUE(std::holds_alternative<Tensor<double>>(to_tensor("a", array).tensor));
  array.values[1] = INFINITY;
  EXPECT_EQ(message_of<FormatError>([&] { to_tensor("a", array); }),
            "a: entry 1 of shape (1, 2) is not finite");
  for (const Array& other : {kNumbers, kTexts}) {
    EXPECT_EQ(message_of<FormatError>([&] { to_tensor("a", other); }),
              "a: its type is neither float32 nor float64");
  }
}

}  // namespace
}  // namespace xgrad
