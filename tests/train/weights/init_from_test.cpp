// [model] init_from: a file fits entirely, or every misfit is named and nothing changes.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>
#include <train/small_run.hpp>

#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::TemporaryDirectory;

/// A model of another seed than its file was made with.
Config config_of(const std::string& file, std::uint64_t seed = 2) {
  return test::small_config(seed, file);
}

Checkpoint other_weights() {
  return Trainer<float>(config_of("", 1)).capture();
}

/// Weights alone, by name: their order in a file is another.
Checkpoint weights(const Checkpoint& from) {
  Checkpoint c;
  c.parameters = from.parameters;
  std::sort(c.parameters.begin(), c.parameters.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  return c;
}

TEST(InitFrom, BothFormatsGiveEveryBit) {
  const TemporaryDirectory directory;
  const Checkpoint saved = other_weights();
  ASSERT_NE(difference(weights(Trainer<float>(config_of("")).capture()), weights(saved)), "");
  for (const std::string& bytes : {to_safetensors(test::weight_file(saved)), to_hdf5(saved)}) {
    const std::string file = directory.write("any name", bytes);
    const Trainer<float> trainer(config_of(file));
    EXPECT_EQ(difference(weights(trainer.capture()), weights(saved)), "");
    ASSERT_TRUE(trainer.initialization());
    const Initialization& found = *trainer.initialization();
    EXPECT_EQ(found.file, file);
    EXPECT_EQ(found.sha256, to_hex(sha256(bytes)));
    EXPECT_EQ(found.tensors, saved.parameters.size());
    EXPECT_EQ(found.numbers, trainer.parameters().count());
    EXPECT_FALSE(found.converted);
  }
}

TEST(InitFrom, AnotherPrecisionIsConverted) {
  const TemporaryDirectory directory;
  const Checkpoint saved = other_weights();
  const std::string single = directory.write("single", to_safetensors(test::weight_file(saved)));
  Config config = config_of(single);
  config.train.precision = "double";
  const Trainer<double> wide(config);
  EXPECT_TRUE(wide.initialization()->converted);

  const std::string twice =
      directory.write("double", to_safetensors(test::weight_file(wide.capture())));
  const Trainer<float> narrow(config_of(twice));
  EXPECT_TRUE(narrow.initialization()->converted);
  EXPECT_EQ(difference(weights(narrow.capture()), weights(saved)), "");
}

TEST(InitFrom, EveryMisfitIsListed) {
  const TemporaryDirectory directory;
  Checkpoint c = other_weights();
  ASSERT_EQ(c.parameters[0].name, "embedding.position.weight");
  c.parameters[0].tensor = zeros<float>({3});
  c.parameters.back().name = "head.scale";
  c.parameters[1].tensor =
      full<double>(std::get<Tensor<float>>(c.parameters[1].tensor).shape(), 1e39);
  const std::string file = directory.write("w.safetensors", to_safetensors(test::weight_file(c)));
  EXPECT_EQ(message_of<CheckpointError>([&] { Trainer<float> trainer(config_of(file)); }),
            file +
                " does not fit the model:"
                "\n  shape differs: parameter embedding.position.weight: the file has (3), "
                "the model (4, 8)"
                "\n  missing parameter head.bias"
                "\n  unexpected parameter head.scale"
                "\n  too large for float32: parameter embedding.token.weight");
}

TEST(InitFrom, WhatIsNoWeights) {
  const TemporaryDirectory directory;
  const auto refusal = [&](const std::string& bytes) {
    const std::string file = directory.write("w", bytes);
    const std::string message =
        message_of<CheckpointError>([&] { Trainer<float> trainer(config_of(file)); });
    EXPECT_TRUE(message.starts_with(file + ": ")) << message;
    return message;
  };
  EXPECT_NE(refusal("").find("not a safetensors file"), std::string::npos);
  EXPECT_NE(refusal("PK\3\4 a PyTorch archive").find("not a zip archive"), std::string::npos);
  std::string sealed = to_hdf5(other_weights());
  sealed[sealed.size() / 2] ^= 1;
  EXPECT_NE(refusal(sealed).find("SHA-256"), std::string::npos);
  EXPECT_NE(message_of<IoError>([&] {
              Trainer<float> trainer(config_of(directory / "none"));
            }).find("cannot open"),
            std::string::npos);
}

TEST(InitFrom, ARunThatGoesOnDoesNotReadItAgain) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("w", to_safetensors(test::weight_file(other_weights())));
  TrainerHooks quiet;
  Trainer<float> whole(config_of(file));
  whole.run(quiet);

  struct Once final : TrainerHooks {
    bool stop() override { return true; }
  } once;
  Trainer<float> first(config_of(file));
  first.run(once);
  const Checkpoint saved = first.capture();
  std::filesystem::remove(file);
  Trainer<float> second(config_of(file), &saved);
  EXPECT_FALSE(second.initialization());
  second.run(quiet);
  EXPECT_EQ(to_hdf5(second.capture()), to_hdf5(whole.capture()));
}

TEST(InitFrom, IsWhatGradcheckLooksAt) {
  const TemporaryDirectory directory;
  Config config = config_of(directory / "none");
  EXPECT_NE(message_of<IoError>([&] { check_model(config); }).find("cannot open"),
            std::string::npos);
  config.model.init_from = directory.write("w", to_safetensors(test::weight_file(other_weights())));
  EXPECT_TRUE(check_model(config).report.ok());
}

TEST(InitFrom, IsPartOfTheConfigThatACheckpointKeeps) {
  EXPECT_NE(to_toml(config_of("a.safetensors"), false).find("init_from = \"a.safetensors\""),
            std::string::npos);
  EXPECT_EQ(differences(config_of(""), config_of("a")).size(), 1u);
}

TEST(WeightsAlone, AreACheckpointWithoutOptimizer) {
  Checkpoint c = other_weights();
  c.optimizer.clear();
  c.state.clear();
  EXPECT_EQ(difference(from_hdf5(to_hdf5(c), "memory"), c), "");
}

}  // namespace
}  // namespace xgrad
