// npz: what is written comes back to the bit, and files that anyone could make are refused by name.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/formats/npy.hpp>
#include <xgrad/storage/formats/npz.hpp>
#include <xgrad/storage/formats/zip.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;

WeightFile small_weights() {
  return test::weight_file(small_checkpoint());
}

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  const auto size = std::uint32_t(header.size());
  bytes.append(reinterpret_cast<const char*>(&size), version == 1 ? 2 : 4);
  return bytes + header + data;
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

std::string one(const std::string& array, const std::string& name = "a.npy") {
  return to_zip({{{name, array}}, ""});
}

std::string refusal(const std::string& bytes) {
  const std::string message = message_of<CheckpointError>([&] { from_npz(bytes, "w.npz"); });
  const std::string origin = "w.npz: ";
  EXPECT_TRUE(message.starts_with(origin)) << message;
  return message.substr(std::min(origin.size(), message.size()));
}

TEST(Npz, ComesBackToTheBit) {
  const std::string file = to_npz(small_weights());
  EXPECT_EQ(difference(from_npz(file, "memory"), {small_weights().tensors}), "");
  EXPECT_EQ(to_npz(small_weights()), file);
  EXPECT_EQ(from_zip(file).comment, small_checkpoint().config);
  EXPECT_EQ(difference(from_npz(to_npz({}), "memory"), {}), "");
  WeightFile odd;
  odd.tensors = {{"a/b ü", zeros<float>({2, 0, 3})}, {"b", full<double>({}, -0.0)}};
  EXPECT_EQ(difference(from_npz(to_npz(odd), "memory"), odd), "");
}

TEST(Npz, AnArrayIsTheFormatToTheByte) {
  const std::string bytes = to_npy(full<float>({3}, 1));
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(bytes.substr(10, text.size()), text);
  EXPECT_EQ((bytes.size() - 12) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 13], '\n');
  EXPECT_NE(to_npy(full<double>({}, 1)).find("'<f8', 'fortran_order': False, 'shape': (), }"),
            std::string::npos);
  EXPECT_NE(to_npy(Ids::from_shape({2, 3})).find("'<i4'"), std::string::npos);
  EXPECT_NE(to_npy(Mask::from_shape({2, 3})).find("'|b1', 'fortran_order': False, 'shape': (2, 3)"),
            std::string::npos);
}

TEST(Npz, ColumnsFirstAndEveryVersion) {
  const float values[] = {1, 4, 2, 5, 3, 6};  // of ((1, 2, 3), (4, 5, 6))
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  for (const char version : {1, 2, 3}) {
    const auto found = from_npy(npy(header("<f4", "(2, 3)", "True"), data, version));
    const auto& tensor = std::get<Tensor<float>>(found);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(tensor.data()[i], float(i + 1));
  }
}

TEST(Npz, WhatWouldNotLoadIsNotWritten) {
  WeightFile c = small_weights();
  c.tensors.push_back(c.tensors.front());
  EXPECT_NE(message_of<CheckpointError>([&] { to_npz(c); }).find("already exists"),
            std::string::npos);
  c.tensors = {{"a", full<double>({2}, std::nan(""))}};
  EXPECT_EQ(message_of<NumericError>([&] { to_npz(c); }), "a: entry 0 of shape (2) is not finite");
  c.tensors = {};
  c.text = std::string(65536, '#');
  EXPECT_EQ(message_of<CheckpointError>([&] { to_npz(c); }),
            "a comment of 65536 bytes; an archive holds 65535");
}

TEST(NpzHostile, C6_ArraysThatAreNone) {
  const std::string data(8, '\0');
  for (const auto& [array, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is no .npy array"},
           {npy(header("<f4", "(2,)"), data, 4), ".npy of version 4; 1 to 3 can be read"},
           {npy(std::string(1025, ' '), data), "a header of 1025 bytes"},
           {npy(header("<f4", "(2,)"), "").substr(0, 20), "a header of 60 bytes"},
           {npy(header(">f4", "(2,)"), data), "its type is '>f4'; '<f4' and '<f8' can be read"},
           {npy(header("<f2", "(4,)"), data), "its type is '<f2'; '<f4' and '<f8' can be read"},
           {npy(header("|O", "(1,)"), data), "its type is '|O'; '<f4' and '<f8' can be read"},
           {npy(header("<f4", "(3,)"), data), "the shape (3) needs 12 bytes, there are 8"},
           {npy(header("<f4", "(1,)"), data), "the shape (1) needs 4 bytes, there are 8"},
           {npy(header("<f4", "(4294967296, 4294967296)"), data),
            "the shape (4294967296, 4294967296) needs uncountable bytes, there are 8"},
           {npy(header("<f4", "(9999999999999999999,)"), data), "an extent of 9999999999999999999"},
           {npy(header("<f4", "(2)"), data), "the header is not as NumPy writes it"},
           {npy(header("<f4", "(-2,)"), data), "the header is not as NumPy writes it"},
           {npy("__import__('os')\n", data), "the header is not as NumPy writes it"},
       }) {
    EXPECT_EQ(refusal(one(array)), "'a.npy': " + why);
  }
  EXPECT_EQ(refusal(one(to_npy(full<float>({2}, INFINITY)))),
            "'a.npy': a: entry 0 of shape (2) is not finite");
  EXPECT_EQ(refusal(one("x", "archive/data.pkl")), "'archive/data.pkl': is no .npy array");
}

TEST(NpzHostile, C6_ArchivesThatAreNone) {
  EXPECT_TRUE(refusal("").starts_with("is no zip archive: "));
  EXPECT_TRUE(refusal("PK\3\4 and nothing more").starts_with("is no zip archive: "));
  const std::string good = to_npz(small_weights());
  EXPECT_TRUE(refusal(good.substr(0, good.size() / 2)).starts_with("is no zip archive: "));
}

TEST(NpzHostile, C6_ChangedBytesAreSeenOrHarmless) {
  WeightFile small = small_weights();
  small.text.clear();
  const std::string good = to_npz(small);
  const WeightFile before = from_npz(good, "memory");
  std::size_t seen = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x10;
    try {
      // A name may become another one, for the model to refuse, and a date another date.
      const std::string what = difference(from_npz(bad, "memory"), before);
      EXPECT_FALSE(what.starts_with("tensor")) << at;
    } catch (const CheckpointError&) {
      ++seen;
    }
  }
  EXPECT_GT(seen, good.size() * 3 / 4);
}

TEST(NpzHostile, C6_NoiseNeverCrashes) {
  const std::string good = to_npz(small_weights());
  for (std::uint64_t round = 0; round < 2000; ++round) {
    const Rng rng = Rng(7) / round;
    std::string bad = good;
    for (std::uint64_t i = 0; i < 1 + round % 5; ++i) {
      const auto at = std::size_t(rng.uniform(2 * i) * double(good.size()));
      bad[at] = char(std::size_t(rng.uniform(2 * i + 1) * 256));
    }
    try {
      from_npz(bad, "memory");
    } catch (const CheckpointError&) {
    }
  }
}

}  // namespace
}  // namespace xgrad
