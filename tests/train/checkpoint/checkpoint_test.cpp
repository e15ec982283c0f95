#include <gtest/gtest.h>
#include <sys/stat.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <cstdlib>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;
using test::TemporaryDirectory;

TEST(Checkpoint, RoundTripIsBitwise) {
  const Checkpoint saved = small_checkpoint();
  EXPECT_EQ(difference(saved, from_hdf5(to_hdf5(saved), "memory")), "");
}

TEST(Checkpoint, D4_EqualCheckpointsAreEqualBytes) {
  const std::string first = to_hdf5(small_checkpoint());
  struct timespec second = {1, 100'000'000};
  ::nanosleep(&second, nullptr);
  EXPECT_EQ(first, to_hdf5(small_checkpoint()));
  EXPECT_EQ(first, to_hdf5(from_hdf5(first, "memory")));
}

TEST(Checkpoint, EmptyOneRoundTrips) {
  EXPECT_EQ(difference(Checkpoint{}, from_hdf5(to_hdf5(Checkpoint{}), "memory")), "");
}

TEST(Checkpoint, EmptyTensorsAndExtremesRoundTrip) {
  Checkpoint c;
  c.step = std::numeric_limits<std::uint64_t>::max();
  c.parameters = {{"a.none", Tensor<float>::from_shape({0, 3})},
                  {"a.tiny", full<float>({1}, std::numeric_limits<float>::denorm_min())},
                  {"a.huge", full<double>({1}, -std::numeric_limits<double>::max())},
                  {"a.zero", full<double>({1}, -0.0)}};
  c.state["best_loss"] = std::numeric_limits<double>::infinity();
  c.state["least"] = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(difference(c, from_hdf5(to_hdf5(c), "memory")), "");
}

TEST(Checkpoint, ManyModulesWithLongNamesRoundTrip) {
  Checkpoint c;
  const std::string path(300, 'm');
  for (int i = 0; i < 700; ++i) {
    c.parameters.push_back(
        {path + "." + std::to_string(i) + ".weight", full<float>({1}, float(i))});
  }
  EXPECT_EQ(difference(c, from_hdf5(to_hdf5(c), "memory")), "");
}

TEST(Checkpoint, PublishedFileLoads) {
  const TemporaryDirectory directory;
  const Checkpoint saved = small_checkpoint();
  publish(directory.path(), checkpoint_name(saved.step), to_hdf5(saved));
  const SavedCheckpoint latest = latest_checkpoint(directory.path());
  EXPECT_EQ(latest.file, directory / "step-0000001200.h5");
  EXPECT_EQ(difference(saved, latest), "");
  const DigestedFile file = to_hdf5_file(saved);
  EXPECT_EQ(file.bytes, read_file(latest.file));
  EXPECT_EQ(file.sha256, to_hex(sha256(file.bytes)));
  EXPECT_EQ(latest.sha256, file.sha256);
}

TEST(Checkpoint, WhatWouldNotLoadIsNotSaved) {
  const auto refusal = [](auto change) {
    Checkpoint c = small_checkpoint();
    change(c);
    return message_of<Error>([&] { to_hdf5(c); });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      refusal([&](Checkpoint& c) { std::get<Tensor<float>>(c.parameters[0].tensor)(2, 1) = nan; }),
      "checkpoint of step 1200: encoder.layers.0.attention.in_proj_weight: entry 5 of shape (3, 2) "
      "is not "
      "finite");
  EXPECT_EQ(refusal([&](Checkpoint& c) { c.state["best_loss"] = double(nan); }),
            "checkpoint of step 1200: state best_loss is NaN");
  for (const char* name : {"weight", "", "a..b", ".a", "a.", "a/b.c", "a b.c", "a\nb.c",
                           "optimizer.weight", "trainer.weight", "head.weight"}) {
    EXPECT_NE(refusal([&](Checkpoint& c) {
                c.parameters.push_back({name, full<float>({1}, 0)});
              }),
              "none")
        << name;
  }
  EXPECT_NE(refusal([](Checkpoint& c) { c.optimizer[0].name = "exp_avg"; }), "none");
  EXPECT_NE(refusal([](Checkpoint& c) { c.config += '\0'; }), "none");
  EXPECT_NE(refusal([](Checkpoint& c) { c.state["a/b"] = 1.0; }), "none");
  EXPECT_NE(refusal([](Checkpoint& c) { c.state["a"] = std::string("\0", 1); }), "none");
}

TEST(Checkpoint, StateValueNamesWhatIsWrong) {
  const Checkpoint c = small_checkpoint();
  EXPECT_EQ(state_value<std::int64_t>(c, "epoch"), -3);
  EXPECT_EQ(state_value<std::string>(c, "note"), "two\nlines");
  EXPECT_EQ(message_of<CheckpointError>([&] { state_value<double>(c, "lr"); }),
            "checkpoint of step 1200: the state has no entry lr");
  EXPECT_EQ(message_of<CheckpointError>([&] { state_value<double>(c, "epoch"); }),
            "checkpoint of step 1200: the state's epoch is of another type");
}

TEST(Checkpoint, NamesAreParsedStrictly) {
  EXPECT_EQ(checkpoint_name(1200), "step-0000001200.h5");
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{9'999'999'999},
                                   std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_EQ(parse_checkpoint_name(checkpoint_name(step)), step);
  }
  for (const char* name : {"", "step-.h5", "step-1.h5", "step-00000000001.h5", "step-000000000x.h5",
                           "step-h5", "step-0000000001.h5.tmp", ".step-0000000001.h5",
                           "step--000000001.h5", "step-99999999999999999999.h5"}) {
    EXPECT_EQ(parse_checkpoint_name(name), std::nullopt) << name;
  }
}

// One file for each format version that was ever released; each must load for ever.
TEST(Checkpoint, C7_GoldenFilesLoad) {
  const std::string golden = test::source_path("tests/golden/checkpoint-");
  EXPECT_EQ(difference(load_checkpoint(golden + "1.0.h5"), small_checkpoint()), "");
}

TEST(Checkpoint, H5dumpReadsIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.h5", to_hdf5(small_checkpoint()));
  const std::string list = directory / "list";
  ASSERT_EQ(std::system(("h5dump -n '" + path + "' > '" + list + "' 2>&1").c_str()), 0);
  const std::string text = read_file(list);
  for (const char* line :
       {"dataset    /encoder.layers.0.norm1/weight\n", "dataset    /trainer/config\n",
        "dataset    /optimizer/exp_avg/encoder.layers.0.norm1.weight\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  ASSERT_EQ(std::system(("h5dump -N layer_names -d /trainer/state/note '" + path + "' > '" + list +
                         "' 2>&1")
                            .c_str()),
            0);
  const std::string values = read_file(list);
  EXPECT_NE(values.find("\"encoder.layers.0.attention\""), std::string::npos) << values;
  EXPECT_NE(values.find("\"two\n"), std::string::npos) << values;
}

}  // namespace
}  // namespace xgrad
