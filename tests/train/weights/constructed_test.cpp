// Encoders whose weights are written down solve their tasks, as checkpoints and as initial weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>

#include "support/errors.hpp"
#include "support/statistics.hpp"
#include "support/temporary_directory.hpp"

namespace xgrad {
namespace {

using Bits = Tokens;

// The model in a checkpoint.
struct Loaded {
  explicit Loaded(const Checkpoint& checkpoint)
      : config(parse_config(checkpoint.config, "checkpoint", {}, ConfigWriter::xgrad)),
        task(make_task(config)),
        shape(task->shape()),
        parameters(1),
        model(make_model<double>(config, shape, parameters)) {
    restore_weights(checkpoint.parameters, "a.h5", parameters);
  }

  // Logits of one input: (1, N, classes) or (1, classes).
  Tensor<double> operator()(const Tokens& ids) const {
    Ids tensor = zeros<std::int32_t>({1, ids.size()});
    std::copy(ids.begin(), ids.end(), tensor.data());
    ModelInput<double> input;
    input.ids = &tensor;
    return (*model)(input, {}).value();
  }

  Config config;
  std::unique_ptr<Task> task;
  TaskShape shape;
  Parameters<double> parameters;
  std::unique_ptr<SequenceModel<double>> model;
};

Loaded loaded(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return Loaded(construct(find_constructed_encoder(name), overrides));
}

// How surely the bits are odd.
double log_odds(const Loaded& parity, const Bits& bits) {
  const Tensor<double> logits = parity(bits);
  return logits(0, 1) - logits(0, 0);
}

bool is_odd(const Bits& bits) {
  return std::accumulate(bits.begin(), bits.end(), 0) % 2 == 1;
}

Bits random_bits(std::size_t length, const Rng& rng) {
  Bits bits;
  for (std::size_t i = 0; i < length; ++i) bits.push_back(std::int32_t(rng.below(2, i)));
  return bits;
}

class ConstructedEncoders : public testing::TestWithParam<std::string> {};

// Every answer of the test split, of a task whose answers are tested elsewhere.
TEST_P(ConstructedEncoders, AreRightOnTheWholeTestSplit) {
  const Loaded model =
      loaded(GetParam(), GetParam() == "parity" ? std::vector<std::string>{"task.length=60"}
                                                : std::vector<std::string>{});
  const auto test = model.task->dataset(Split::test);
  for (std::size_t i = 0; i < 300; ++i) {
    const Example example = test->get(0, i);
    const Tensor<double> logits = model(example.ids);
    const std::size_t classes = model.shape.classes;
    ASSERT_EQ(logits.size(), example.targets.size() * classes);
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      const double* row = logits.data() + k * classes;
      ASSERT_EQ(std::max_element(row, row + classes) - row, example.targets[k]) << i << ", " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConstructedEncoders,
                         testing::Values("copy", "first", "histogram", "parity", "reverse"),
                         [](const auto& row) { return row.param; });

TEST(Constructed, EveryEncoderIsTested) {
  EXPECT_EQ(constructed_encoders().size(), 5u);
  EXPECT_TRUE(std::is_sorted(constructed_encoders().begin(), constructed_encoders().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

// The numbers of the authors' program, which has an end token where xgrad has a class token.
TEST(Constructed, ParityHasTheLogitsOfTheAuthors) {
  const Loaded parity = loaded("parity");
  EXPECT_NEAR(log_odds(parity, {1, 0, 1, 1}), 0.0405678752, 5e-11);
  EXPECT_NEAR(log_odds(parity, {1, 0, 1, 0}), -0.0270452501, 5e-11);
}

TEST(Constructed, ParityIsRightOnAllShortStrings) {
  const Loaded parity = loaded("parity");
  for (std::size_t length = 1; length <= 8; ++length) {
    for (std::size_t number = 0; number < std::size_t(1) << length; ++number) {
      Bits bits;
      for (std::size_t i = 0; i < length; ++i) bits.push_back(std::int32_t(number >> i & 1));
      ASSERT_EQ(log_odds(parity, bits) > 0, is_odd(bits)) << length << ": " << number;
    }
  }
}

// Random strings, and those of zeros and of ones, whose counts are at the ends.
TEST(Constructed, ParityIsRightAtEveryLengthTo500) {
  const Loaded parity = loaded("parity");
  double least = 1;
  for (std::size_t length = 1; length <= 500; ++length) {
    for (const Bits& bits :
         {random_bits(length, Rng(5) / length), Bits(length, 0), Bits(length, 1)}) {
      const double found = log_odds(parity, bits);
      ASSERT_EQ(found > 0, is_odd(bits)) << "length " << length;
      least = std::min(least, std::fabs(found));
    }
  }
  // One bit's share shrinks with the square of the length: 3.3e-6 is the least at length 500.
  EXPECT_NEAR(least, 3.3e-6, 0.1e-6);
}

// A class token, n symbols, and scores times log(n + 1): the share is (n + 1) / (2 n + 1).
TEST(Constructed, FirstAttendsAlikeAtEveryLength) {
  const Loaded first = loaded("first", {"task.length=1000"});
  for (const std::size_t n : {4u, 10u, 100u, 999u}) {
    Tokens ids(n, 3);
    ids[0] = 7;
    const Tensor<double> logits = first(ids);
    for (std::size_t s = 0; s < 10; ++s) {
      EXPECT_NEAR(logits(0, s), s == 7 ? double(n + 1) / double(2 * n + 1) : 0, 1e-12) << n;
    }
  }
}

Config start_from(const std::string& name, const std::string& more = "") {
  Config config = loaded(name, {"task.length=16"}).config;
  config.model.init_from = kConstructed + name;
  return parse_config(to_toml(config) + more, "test", {});
}

TEST(Constructed, InitialWeightsAreThoseOfTheCheckpoint) {
  const Config config = start_from("parity");
  const Trainer<double> trainer(config);
  const Checkpoint made = construct(find_constructed_encoder("parity"), {"task.length=16"});
  for (const NamedTensor& tensor : made.parameters) {
    EXPECT_EQ(trainer.parameters().at(tensor.name).value(), std::get<Tensor<double>>(tensor.tensor))
        << tensor.name;
  }
  EXPECT_EQ(trainer.initialization()->file, "constructed:parity");
  EXPECT_EQ(trainer.initialization()->sha256.size(), 64u);
}

// model.init_noise adds the noise of `xgrad construct --noise` to encoders and to files alike.
TEST(Constructed, TrainingAddsTheSameNoise) {
  const std::string name = "reverse";
  const ConstructedEncoder& encoder = find_constructed_encoder(name);
  const std::vector<std::string> settings = {"task.length=16", "train.seed=5"};
  const Checkpoint noisy = construct(encoder, settings, 0.25);
  const test::TemporaryDirectory directory;
  const std::string file = directory.write("w.h5", to_hdf5(construct(encoder, settings)));
  for (const std::string& source : {std::string("constructed:reverse"), file}) {
    Config config = start_from("reverse");
    config.model.init_from = source;
    config.model.init_noise = 0.25;
    config.train.seed = 5;
    const Trainer<double> trainer(config);
    for (const NamedTensor& tensor : noisy.parameters) {
      EXPECT_EQ(trainer.parameters().at(tensor.name).value(),
                std::get<Tensor<double>>(tensor.tensor))
          << source << " " << tensor.name;
    }
  }
}

// All numbers of a checkpoint.
std::vector<double> numbers(const Checkpoint& checkpoint) {
  std::vector<double> all;
  for (const NamedTensor& tensor : checkpoint.parameters) {
    const auto& value = std::get<Tensor<double>>(tensor.tensor);
    all.insert(all.end(), value.data(), value.data() + value.size());
  }
  return all;
}

TEST(Constructed, NoiseIsNormalWithItsDeviation) {
  const auto made = [](const std::string& seed, double noise) {
    return numbers(construct(find_constructed_encoder("reverse"), {"train.seed=" + seed}, noise));
  };
  const std::vector<double> exact = made("1", 0), noisy = made("1", 0.5), other = made("2", 0.5);
  std::vector<double> added;
  double together = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    added.push_back((noisy[i] - exact[i]) / 0.5);
    together += added[i] * (other[i] - exact[i]) / 0.5;
  }
  EXPECT_GT(added.size(), 3000u);
  EXPECT_TRUE(test::comes_from(added, test::normal_cdf));
  EXPECT_LT(std::fabs(together), 5 * std::sqrt(double(added.size()))) << "other noise";
  EXPECT_EQ(made("1", 0.5), noisy);
}

TEST(Constructed, WhatDoesNotFitIsAnError) {
  Config config = start_from("parity");
  config.model.width = 12;
  config.model.activation = "gelu";
  EXPECT_EQ(test::message_of<ConfigError>([&] { Trainer<double> trainer(config); }),
            "model.init_from: constructed:parity needs model.width = 10, model.activation = "
            "\"relu\"");
  config = start_from("parity");
  config.model.init_from = "constructed:party";
  EXPECT_EQ(test::message_of<ConfigError>([&] { Trainer<double> trainer(config); }),
            "there is no constructed encoder \"party\"; there are copy, first, histogram, parity, "
            "reverse");
  config.model.init_from = "constructed:reverse";
  EXPECT_EQ(test::message_of<ConfigError>([&] { Trainer<double> trainer(config); }),
            "model.init_from: constructed:reverse needs the task reverse");
  EXPECT_EQ(
      test::message_of<ConfigError>(
          [] { construct(find_constructed_encoder("copy"), {"model.width=3"}); }),
      "\"model.width=3\": only train.seed and keys of [task] can be set, as in task.length=100");
}

}  // namespace
}  // namespace xgrad
