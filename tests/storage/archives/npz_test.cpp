// npz: what is written comes back to the bit, and files that anyone could make are refused by name.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>

#include <cmath>

#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/zip.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;

WeightFile small_weights() {
  return test::weight_file(small_checkpoint());
}

std::string one(const std::string& array, const std::string& name = "a.npy") {
  return to_zip({{{name, array}}, ""});
}

std::string refusal(const std::string& bytes) {
  return message_of<FormatError>([&] { from_npz(bytes); });
}

TEST(Npz, ComesBackToTheBit) {
  const std::string file = to_npz(small_weights());
  EXPECT_EQ(difference(from_npz(file), {small_weights().tensors}), "");
  EXPECT_EQ(to_npz(small_weights()), file);
  EXPECT_EQ(from_zip(file).comment, small_checkpoint().config);
  EXPECT_EQ(difference(from_npz(to_npz({})), {}), "");
  WeightFile odd;
  odd.tensors = {{"a/b ü", zeros<float>({2, 0, 3})}, {"b", full<double>({}, -0.0)}};
  EXPECT_EQ(difference(from_npz(to_npz(odd)), odd), "");
}

TEST(Npz, WhatWouldNotLoadIsNotWritten) {
  WeightFile c = small_weights();
  c.tensors.push_back(c.tensors.front());
  EXPECT_NE(message_of<FormatError>([&] { to_npz(c); }).find("already exists"), std::string::npos);
  c.tensors = {{"a", full<double>({2}, std::nan(""))}};
  EXPECT_EQ(message_of<NumericError>([&] { to_npz(c); }), "a: entry 0 of shape (2) is not finite");
  c.tensors = {};
  c.text = std::string(65536, '#');
  EXPECT_EQ(message_of<FormatError>([&] { to_npz(c); }),
            "the comment has 65536 bytes, must have at most 65535");
}

TEST(NpzHostile, C6_ArraysThatAreNoWeights) {
  const std::string neither = ": its type is neither float32 nor float64";
  EXPECT_EQ(refusal(one("x")), "'a.npy': is not a npy file");
  EXPECT_EQ(refusal(one(to_npy(Ids::from_shape({2})))), "'a.npy': a" + neither);
  EXPECT_EQ(refusal(one(to_npy(Mask::from_shape({2})))), "'a.npy': a" + neither);
  EXPECT_EQ(refusal(one(to_npy(full<float>({2}, INFINITY)))),
            "'a.npy': a: entry 0 of shape (2) is not finite");
  EXPECT_EQ(refusal(one("x", "archive/data.pkl")), "'archive/data.pkl': is not a .npy array");
}

TEST(NpzHostile, C6_ArchivesThatAreNone) {
  EXPECT_TRUE(refusal("").starts_with("is not a zip archive: "));
  EXPECT_TRUE(refusal("PK\3\4 and nothing more").starts_with("is not a zip archive: "));
  const std::string good = to_npz(small_weights());
  EXPECT_TRUE(refusal(good.substr(0, good.size() / 2)).starts_with("is not a zip archive: "));
}

TEST(NpzHostile, C6_ChangedBytesAreSeenOrHarmless) {
  WeightFile small = small_weights();
  small.text.clear();
  const std::string good = to_npz(small);
  const WeightFile before = from_npz(good);
  std::size_t seen = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x10;
    try {
      // A name may become another one, for the model to refuse, and a date another date.
      const std::string what = difference(from_npz(bad), before);
      EXPECT_FALSE(what.starts_with("tensor")) << at;
    } catch (const FormatError&) {
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
      from_npz(bad);
    } catch (const FormatError&) {
    }
  }
}

}  // namespace
}  // namespace xgrad
