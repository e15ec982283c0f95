// safetensors: what is written is what the format's own library writes, and comes back to the bit.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/version.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;

WeightFile small_weights() {
  return test::weight_file(small_checkpoint());
}

/// In the order of the file: F64 first, then by name.
WeightFile expected() {
  const WeightFile small = small_weights();
  WeightFile sorted{.text = small.text};
  for (const std::size_t i : {3, 4, 2, 0, 1}) sorted.tensors.push_back(small.tensors[i]);
  return sorted;
}

std::size_t header_size(const std::string& file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  return size;
}

TEST(Safetensors, ComesBackToTheBit) {
  const std::string file = to_safetensors(small_weights());
  EXPECT_EQ(difference(from_safetensors(file), expected()), "");
  EXPECT_EQ(to_safetensors(from_safetensors(file)), file);
}

TEST(Safetensors, IsTheFormatToTheByte) {
  const std::string file = to_safetensors(small_weights());
  const std::size_t size = header_size(file);
  const std::string data = file.substr(8 + size);
  EXPECT_EQ(size % 8, 0u);
  ASSERT_EQ(data.size(), 5 * 8 + 11 * 4u);
  std::string header = file.substr(8, size);
  header.erase(header.find_last_not_of(' ') + 1);
  EXPECT_EQ(header,
            R"({"__metadata__":{"config":"[train]\nseed = 1 # π\n","format":"pt","sha256":")" +
                to_hex(sha256(data)) + R"(","xgrad_version":")" + kVersion + R"("},)" +
                R"("head.scale":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                R"("head.weight":{"dtype":"F64","shape":[1,4],"data_offsets":[8,40]},)"
                R"("encoder.layers.0.attention.in_proj_bias":)"
                R"({"dtype":"F32","shape":[3],"data_offsets":[40,52]},)"
                R"("encoder.layers.0.attention.in_proj_weight":)"
                R"({"dtype":"F32","shape":[3,2],"data_offsets":[52,76]},)"
                R"("encoder.layers.0.norm1.weight":)"
                R"({"dtype":"F32","shape":[2],"data_offsets":[76,84]}})");
  double scale = 0;
  std::memcpy(&scale, data.data(), sizeof scale);
  EXPECT_EQ(scale, 3.0);
}

TEST(Safetensors, EveryLengthOfHeaderIsAligned) {
  for (std::size_t length = 1; length < 20; ++length) {
    WeightFile c;
    c.tensors = {{std::string(length, 'a'), zeros<float>({1})}};
    const std::string file = to_safetensors(c);
    EXPECT_EQ(header_size(file) % 8, 0u);
    EXPECT_EQ(file.size(), 8 + header_size(file) + 4);
    EXPECT_EQ(difference(from_safetensors(file), c), "") << length;
  }
}

TEST(Safetensors, NothingAndEmptyTensorsAndStrangeNames) {
  EXPECT_EQ(difference(from_safetensors(to_safetensors({})), {}), "");
  WeightFile c;
  c.text = "\"quoted\" \\ \t ü";
  c.tensors = {{"a \"b\" \\ ü", zeros<float>({2, 0, 3})},
               {"b", full<float>({}, -0.0f)},
               {"c", zeros<float>({0})},
               {"d", full<float>({3}, std::numeric_limits<float>::denorm_min())}};
  EXPECT_EQ(difference(from_safetensors(to_safetensors(c)), c), "");
}

TEST(Safetensors, WhatWouldNotLoadIsNotWritten) {
  WeightFile c = small_weights();
  c.tensors.push_back(c.tensors.front());
  EXPECT_EQ(message_of<FormatError>([&] { to_safetensors(c); }),
            "'encoder.layers.0.attention.in_proj_weight' appears twice");
  c.tensors = {{"__metadata__", zeros<float>({1})}};
  EXPECT_EQ(message_of<FormatError>([&] { to_safetensors(c); }),
            "'__metadata__' is not a valid name for a tensor");
  c.tensors = {{"\xff", zeros<float>({1})}};
  EXPECT_NE(message_of<FormatError>([&] { to_safetensors(c); }).find("UTF-8"), std::string::npos);
  c.tensors = {{"a\nb", zeros<float>({1})}};
  EXPECT_NE(message_of<FormatError>([&] { to_safetensors(c); }).find("control characters"),
            std::string::npos);
  for (const double bad : {double(INFINITY), -double(INFINITY), std::nan("")}) {
    c.tensors = {{"a", full<double>({2, 2}, 1)}};
    std::get<Tensor<double>>(c.tensors[0].tensor).data()[2] = bad;
    EXPECT_EQ(message_of<NumericError>([&] { to_safetensors(c); }),
              "a: entry 2 of shape (2, 2) is not finite");
  }
}

}  // namespace
}  // namespace xgrad
