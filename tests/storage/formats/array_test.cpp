// Arrays as bytes, in which the process that reads a foreign file returns them.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>

#include <xgrad/storage/formats/array.hpp>
#include <xgrad/storage/formats/format_error.hpp>

namespace xgrad {
namespace {

using test::message_of;

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
