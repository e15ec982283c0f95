// [model] init_strict = false: what fits of a file is taken, and the rest is told.
#include <xgrad/train/weights/init_from.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/layers/init.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/checkpoints.hpp"
#include "support/gradients.hpp"
#include "support/temporary_directory.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using test::TemporaryDirectory;
using Names = std::vector<std::string>;

Config config_of(std::uint64_t seed, const std::string& file = "") {
  Config config = test::small_config(seed, file);
  config.model.init_strict = file.empty();
  return config;
}

Checkpoint weights_of(std::uint64_t seed) {
  return Trainer<float>(config_of(seed)).capture();
}

const Tensor<float>& at(const Checkpoint& c, const std::string& name) {
  const auto found = std::find_if(c.parameters.begin(), c.parameters.end(),
                                  [&](const NamedTensor& t) { return t.name == name; });
  return std::get<Tensor<float>>(found->tensor);
}

NamedTensor& get(Checkpoint& c, const std::string& name) {
  return *std::find_if(c.parameters.begin(), c.parameters.end(),
                       [&](const NamedTensor& t) { return t.name == name; });
}

TEST(PartialWeights, WhatFitsIsTakenAndTheRestStaysAsItBegan) {
  const TemporaryDirectory directory;
  const Checkpoint own = weights_of(2);
  Checkpoint other = weights_of(1);
  other.optimizer.clear();
  other.state.clear();
  get(other, "embedding.position.weight").tensor = zeros<float>({5, 8});
  get(other, "head.bias").name = "head.scale";
  for (const std::string& bytes : {to_safetensors(test::weight_file(other)),
                                   to_npz(test::weight_file(other)), to_hdf5(other)}) {
    const Trainer<float> trainer(config_of(2, directory.write("w", bytes)));
    const Initialization& found = *trainer.initialization();
    const PartialFit& fit = found.partial.value();
    EXPECT_EQ(fit.missing, Names{"head.bias"});
    EXPECT_EQ(fit.misfits,
              Names{"embedding.position.weight (the file has (5, 8), the model (4, 8))"});
    EXPECT_EQ(fit.unused, Names{"head.scale"});
    EXPECT_EQ(fit.taken.size(), own.parameters.size() - 2);
    EXPECT_EQ(found.tensors, fit.taken.size());
    const Checkpoint begun = trainer.capture();
    std::size_t numbers = 0;
    for (const NamedTensor& t : begun.parameters) {
      const bool taken = std::find(fit.taken.begin(), fit.taken.end(), t.name) != fit.taken.end();
      EXPECT_EQ(at(begun, t.name), at(taken ? other : own, t.name)) << t.name;
      numbers += taken ? at(begun, t.name).size() : 0;
    }
    EXPECT_EQ(found.numbers, numbers);
  }
}

TEST(PartialWeights, AreToldInALineForEachKind) {
  const PartialFit fit{{"a", "b"}, {"c"}, {"d (the file has (3), the model (4))"}, {}};
  EXPECT_EQ(lines_of(fit),
            (Names{"taken from the file: 2: a, b", "missing in the file: 1: c",
                   "of another shape or meaning: 1: d (the file has (3), the model (4))",
                   "unused in the file: 0"}));
}

TEST(PartialWeights, NothingToTakeIsAnError) {
  const TemporaryDirectory directory;
  Checkpoint other;
  other.parameters = {{"head.bias", zeros<float>({3})}, {"x", zeros<float>({1})}};
  const std::string file = directory.write("w", to_safetensors(test::weight_file(other)));
  EXPECT_TRUE(test::throws_with<CheckpointError>(
      [&] { Trainer<float> trainer(config_of(2, file)); },
      file + " does not fit the model:\n  taken from the file: 0\n  missing in the file: "));
  // Numbers that are too large count only where they are taken.
  Checkpoint large = weights_of(1);
  get(large, "head.bias").tensor = full<double>({10}, 1e39);
  EXPECT_TRUE(test::throws_with<CheckpointError>(
      [&] {
        Trainer<float> trainer(
            config_of(2, directory.write("l", to_safetensors(test::weight_file(large)))));
      },
      "too large for float32: parameter head.bias"));
  get(large, "head.bias").tensor = full<double>({11}, 1e39);
  const Trainer<float> trainer(
      config_of(2, directory.write("m", to_safetensors(test::weight_file(large)))));
  EXPECT_EQ(trainer.initialization()->partial->misfits.size(), 1u);
}

TEST(PartialWeights, ARunThatGoesOnHasTheSameBitsWithoutTheFile) {
  const TemporaryDirectory directory;
  Checkpoint other = weights_of(1);
  other.parameters.pop_back();
  const std::string file = directory.write("w", to_safetensors(test::weight_file(other)));
  const Config config = config_of(2, file);
  EXPECT_TRUE(check_model(config).report.ok());
  test::expect_the_same_bits_after_a_stop(config, [&] { std::filesystem::remove(file); });
}

// Rows of a user's own text; those with an x have the label 1.
std::string rows_of(const std::string& first, const std::string& second) {
  std::string text = "text,label\n";
  for (int i = 0; i < 60; ++i) {
    const std::string both = i % 2 == 0 ? first + " x" : second + " y";
    text += both + " n" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  }
  return text;
}

Config files_config(const std::string& file, const std::string& labels,
                    const std::vector<std::string>& more = {}) {
  return parse_config("[task]\nname = 'files'\nmin_count = 9\ntrain = '" + file + "'\nlabels = '" +
                          labels +
                          "'\n[model]\nwidth = 4\nheads = 1\nlayers = 1\npool = 'mean'\n"
                          "[train]\nsteps = 1\n",
                      "files", more);
}

// The vocabularies have five words each, of which they share three, at other places.
TEST(PartialWeights, RowsOfTheTokenTableGoByTheirWords) {
  const TemporaryDirectory directory;
  const std::string one = directory.write("one.csv", rows_of("a", "a")),
                    two = directory.write("two.csv", rows_of("b", "c"));
  const Trainer<float> pretrained(files_config(one, "masked"));
  const Checkpoint saved = pretrained.capture();
  const std::string file = directory.write("w.h5", to_hdf5(saved));
  Trainer<float> own(files_config(two, "sequence", {"train.seed=2"}));
  const Trainer<float> classifier(files_config(
      two, "sequence", {"train.seed=2", "model.init_strict=false", "model.init_from=" + file}));

  const Names theirs = pretrained.task().shape().token_names,
              ours = classifier.task().shape().token_names;
  ASSERT_EQ(theirs.size(), 5u);
  ASSERT_EQ(ours.size(), 5u);
  const std::string table = "embedding.token.weight";
  const Checkpoint begun = classifier.capture(), before = own.capture();
  const Tensor<float>&taken = at(begun, table), &from = at(saved, table), &to = at(before, table);
  std::size_t shared = 0, moved = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto place =
        std::size_t(std::find(theirs.begin(), theirs.end(), ours[i]) - theirs.begin());
    shared += place < 5;
    moved += place < 5 && place != i;
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(taken(i, d), place < 5 ? from(place, d) : to(i, d)) << ours[i];
    }
  }
  EXPECT_EQ(shared, 3u);
  EXPECT_GT(moved, 0u);
  const PartialFit& fit = *classifier.initialization()->partial;
  EXPECT_NE(std::find(fit.taken.begin(), fit.taken.end(), table + " (the rows of 3 words of 5)"),
            fit.taken.end());
  EXPECT_EQ(fit.misfits, (Names{"head.weight (the file has (5, 4), the model (2, 4))",
                                "head.bias (the file has (5), the model (2))"}));
}

// As many, but of something else.
TEST(PartialWeights, AHeadForOtherClassesIsNotTaken) {
  Parameters<float> parameters(1);
  (parameters.root() / "head").parameter("bias", {2}, init::zeros());
  (parameters.root() / "embedding" / "one_hot").parameter("weight", {4, 2}, init::zeros());
  (parameters.root() / "x").parameter("bias", {1}, init::zeros());
  const std::vector<NamedTensor> weights = {{"head.bias", full<float>({2}, 1)},
                                            {"embedding.one_hot.weight", full<float>({4, 2}, 1)},
                                            {"x.bias", full<float>({1}, 1)}};
  TaskShape theirs, ours;
  theirs.token_names = {"b", "a"};
  theirs.class_names = {"N", "V"};
  ours.token_names = {"a", "b"};
  ours.class_names = {"no", "yes"};
  const PartialFit fit = restore_fitting(weights, theirs, "w", parameters, ours);
  EXPECT_EQ(fit.taken, Names{"x.bias"});
  EXPECT_EQ(fit.misfits, (Names{"head.bias (the file has other classes)",
                                "embedding.one_hot.weight (the file has other words)"}));
  EXPECT_EQ(restore_fitting(weights, {}, "w", parameters, ours).taken.size(), 3u);
  EXPECT_EQ(restore_fitting(weights, ours, "w", parameters, ours).taken.size(), 3u);
}

}  // namespace
}  // namespace xgrad
