// C6: safetensors files that anyone could make are refused, by name and reason, and cost nothing.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>

#include <cmath>
#include <cstring>
#include <ctime>

#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;

std::string file(const std::string& header, const std::string& data,
                 std::optional<std::uint64_t> size = std::nullopt) {
  const std::uint64_t n = size.value_or(header.size());
  return std::string(reinterpret_cast<const char*>(&n), sizeof n) + header + data;
}

std::string refusal(const std::string& bytes) {
  const std::clock_t start = std::clock();
  const std::string message = message_of<FormatError>([&] { from_safetensors(bytes); });
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  return message;
}

/// A file of 8 bytes of data: one entry with these fields, or any header.
std::string entry(const std::string& fields) {
  return file(R"({"a":{)" + fields + "}}", std::string(8, '\0'));
}
std::string header(const std::string& json) {
  return file(json, std::string(8, '\0'));
}

constexpr const char* kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(SafetensorsHostile, TheseWouldLoad) {
  WeightFile c;
  c.tensors = {{"a", zeros<float>({2})}};
  const std::string any_order =
      R"( "x" : { "data_offsets": [ 0, 8 ], "shape":[2], "dtype" : "F32" } } )";
  for (const std::string& json :
       {std::string(kGood), kGood + std::string("   \n"),
        R"({"a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"},"__metadata__":{"sha256":"?"}})" +
            std::string()}) {
    EXPECT_EQ(difference(from_safetensors(header(json)), c), "") << json;
  }
  c.tensors[0].name = "x";
  EXPECT_EQ(difference(from_safetensors(header("{" + any_order)), c), "");
}

TEST(SafetensorsHostile, C6_Frames) {
  const std::string none = "is not a safetensors file: there is no header at byte 8";
  EXPECT_EQ(refusal(""), none);
  EXPECT_EQ(refusal(std::string(8, '\0')), none);
  EXPECT_EQ(refusal("PK\3\4 a PyTorch archive"), none);
  EXPECT_EQ(refusal(file(" {}", "")), none);
  EXPECT_EQ(refusal(file("{}", "", 3)),
            "ends inside its header: it has 10 bytes, the header claims 3");
  EXPECT_EQ(refusal(file("{}", "", 100'000'001)),
            "its header claims 100000001 bytes; the limit is 100000000");
  EXPECT_EQ(refusal(file("{}", "", ~std::uint64_t{0})),
            "its header claims 18446744073709551615 bytes; the limit is 100000000");
  EXPECT_EQ(refusal(header("{}")), "8 unused bytes after the last tensor");
  for (const std::uint64_t size : {0, 1, int(std::strlen(kGood)) - 1}) {
    EXPECT_TRUE(
        refusal(file(kGood, std::string(8, '\0'), size)).starts_with("its header is not JSON"))
        << size;
  }
}

struct Case {
  std::string bytes, message;
};

void expect_refusals(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(refusal(c.bytes), c.message) << c.bytes.substr(8);
}

TEST(SafetensorsHostile, C6_Offsets) {
  const std::string same = R"("dtype":"F32","shape":[1],"data_offsets":)";
  const auto two = [&](const std::string& a, const std::string& b) {
    return header(R"({"a":{)" + same + a + R"(},"b":{)" + same + b + "}}");
  };
  expect_refusals({
      {two("[0,4]", "[0,4]"), "b: begins at byte 0 of the data, inside another tensor"},
      {two("[0,4]", "[2,6]"), "b: begins at byte 2 of the data, inside another tensor"},
      {two("[0,4]", "[8,12]"), "b: begins at byte 8 of the data, after a gap"},
      {two("[4,8]", "[8,12]"), "a: begins at byte 4 of the data, after a gap"},
      {two("[0,4]", "[4,5]"), "b: its shape needs 4 bytes, but its data_offsets are 4 and 5"},
      {two("[0,4]", "[4,2]"), "b: its shape needs 4 bytes, but its data_offsets are 4 and 2"},
      {entry(same + "[0,4]"), "4 unused bytes after the last tensor"},
      {entry(R"("dtype":"F64","shape":[2],"data_offsets":[0,16])"),
       "a: ends at byte 16 of the data, which has only 8"},
      {entry(same + "[18446744073709551612,0]"),
       "a: begins at byte 18446744073709551612 of the data, after a gap"},
      {entry(same + "[0]"), "a: data_offsets must be two numbers"},
      {entry(same + "[]"), "a: data_offsets must be two numbers"},
      {entry(same + "[0,8,8]"), "a: data_offsets must be two numbers"},
      {entry(same + "[0,-8]"),
       "a: data_offsets must be a list of whole numbers, none of them negative"},
      {entry(same + "[0,8.0]"),
       "a: data_offsets must be a list of whole numbers, none of them negative"},
      {entry(same + "[[0],8]"), "a: has a list inside"},
      {entry(same + "null"),
       "a: data_offsets must be a list of whole numbers, none of them negative"},
  });
}

TEST(SafetensorsHostile, C6_ShapesAndTypes) {
  const auto shaped = [](const std::string& shape, const std::string& dtype = "F32") {
    return entry(R"("dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[0,8])");
  };
  const std::string more = "a: its shape needs more bytes than can be counted";
  std::string axes = "[1";
  for (int i = 1; i < 33; ++i) axes += ",1";
  expect_refusals({
      {shaped("[3]"), "a: its shape needs 12 bytes, but its data_offsets are 0 and 8"},
      {shaped("[1]"), "a: its shape needs 4 bytes, but its data_offsets are 0 and 8"},
      {shaped("[4611686018427387904]"), more},
      {shaped("[9223372036854775808,2]"), more},
      {shaped("[4294967296,4294967296,2]"), more},
      {shaped("[18446744073709551615,0]"), more},
      {shaped("[0,4294967296,4294967296]"), more},
      {shaped("[0]"), "a: its shape needs 0 bytes, but its data_offsets are 0 and 8"},
      {shaped(axes + "]"), "a: has more than 32 axes"},
      {shaped("2"), "a: shape must be a list of whole numbers, none of them negative"},
      {shaped("[true]"), "a: shape must be a list of whole numbers, none of them negative"},
      {shaped("{}"), "a: has an object inside"},
      {shaped("[2]", "BF16"), "a: its dtype is BF16; F32 and F64 can be read"},
      {shaped("[2]", "I32"), "a: its dtype is I32; F32 and F64 can be read"},
      {shaped("[2]", ""), "a: its dtype is ; F32 and F64 can be read"},
      {shaped("[2]", "\\u001b[31m"),
       "its header has a name that is too long or has control characters"},
  });
}

TEST(SafetensorsHostile, C6_Keys) {
  const std::string good = std::string(kGood).substr(1, std::strlen(kGood) - 2);
  expect_refusals({
      {header("{" + good + "," + good + "}"), "'a' appears twice"},
      {header("{" + good + R"(,"__metadata__":{},"__metadata__":{}})"),
       "'__metadata__' appears twice"},
      {header("{" + good + R"(,"__metadata__":{"b":"1","b":"1"}})"),
       "__metadata__: 'b' appears twice"},
      {header("{" + good + R"(,"__metadata__":{"b":1}})"), "__metadata__: b must be a text"},
      {header("{" + good + R"(,"__metadata__":{"b":{}}})"), "__metadata__: has an object inside"},
      {header("{" + good + R"(,"__metadata__":[]})"), "__metadata__: has a list inside"},
      {header(R"({"a":"F32"})"), "a: must be an object"},
      {header(R"({"a":{}})"), "a: must have dtype, shape and data_offsets, and nothing else"},
      {entry(R"("dtype":"F32","shape":[2])"),
       "a: must have dtype, shape and data_offsets, and nothing else"},
      {entry(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"),
       "a: 'dtype' appears twice"},
      {entry(R"("dtype":1,"shape":[2],"data_offsets":[0,8])"), "a: dtype must be a text"},
      {entry(R"("strides":[1])"), "a: must have dtype, shape and data_offsets, and nothing else"},
      {header(R"({"\u0000":{}})"),
       "its header has a name that is too long or has control characters"},
      {header(R"({")" + std::string(1001, 'a') + R"(":{}})"),
       "its header has a name that is too long or has control characters"},
  });
}

TEST(SafetensorsHostile, C6_WhatIsNoJson) {
  for (const std::string& json :
       {std::string("{"), std::string("{}x"), std::string("{} {}"), std::string("{'a':{}}"),
        std::string("{\"a\":}"), std::string("{// a comment\n}"), std::string("{\"\xff\":{}}"),
        R"({"a":{"dtype":"F32","shape":[1e999]}})" + std::string(),
        std::string(kGood).insert(1, ","),
        R"({"a":{"dtype":"F32","shape":[NaN]}})" + std::string()}) {
    EXPECT_TRUE(refusal(header(json)).starts_with("its header is not JSON: ")) << json;
  }
  EXPECT_EQ(refusal(header(kGood + std::string(1, '\0'))), "its header holds a zero byte");
  EXPECT_EQ(refusal(header("{" + std::string(R"("a":{"shape":)") + std::string(1 << 20, '['))),
            "a: has a list inside");
}

TEST(SafetensorsHostile, C6_NumbersThatAreNotFinite) {
  for (const float bad : {INFINITY, -INFINITY, std::nanf("")}) {
    const float values[] = {1, bad};
    const std::string data(reinterpret_cast<const char*>(values), sizeof values);
    EXPECT_EQ(refusal(file(kGood, data)), "a: entry 1 of shape (2) is not finite");
  }
}

TEST(SafetensorsHostile, C6_AnyChangedByteOfOursIsSeen) {
  const std::string good = to_safetensors(test::weight_file(small_checkpoint()));
  const WeightFile before = from_safetensors(good);
  const std::size_t data = good.size() - 84;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x10;
    try {
      // A name or a shape may become another one: that is for the model to refuse.
      const WeightFile after = from_safetensors(bad);
      EXPECT_LT(at, data) << "a byte of the data";
    } catch (const FormatError&) {
    }
    if (at % 7 == 0) refusal(good.substr(0, at));
  }
  EXPECT_EQ(refusal(good + "x"), "1 unused bytes after the last tensor");
}

TEST(SafetensorsHostile, C6_NoiseNeverCrashes) {
  const std::string good = to_safetensors(test::weight_file(small_checkpoint()));
  const std::string alphabet = "{}[],:\"0129-.eEatdF3\\ \n";
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const Rng rng = Rng(7) / round;
    std::string bad = good;
    for (std::uint64_t i = 0; i < 1 + round % 5; ++i) {
      const auto at = std::size_t(rng.uniform(2 * i) * double(good.size() - 84));
      bad[at] = alphabet[std::size_t(rng.uniform(2 * i + 1) * double(alphabet.size()))];
    }
    try {
      from_safetensors(bad);
    } catch (const FormatError&) {
    }
  }
}

}  // namespace
}  // namespace xgrad
