// [train] head_diversity, from the config to the maps of the heads.
#include <xgrad/train/model/objective.hpp>

#include <gtest/gtest.h>

#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

// Sequences of three to six tokens.
Config config_of(const std::vector<std::string>& overrides) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 6\nmin_length = 3\nsymbols = 8\ntest = 50\n"
      "[model]\nwidth = 12\nheads = 3\nlayers = 2\n[train]\nsteps = 5\nbatch = 8\n",
      "test", overrides);
}

const std::vector<std::string> kStill = {"model.dropout=0", "model.attention_dropout=0"};

std::vector<std::string> with(std::vector<std::string> overrides,
                              const std::vector<std::string>& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

// The cosine of two heads' maps of one example, of `length` queries.
double cosine(const Tensor<double>& p, std::size_t b, std::size_t g, std::size_t h,
              std::size_t length) {
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = 0; j < p.shape()[3]; ++j) {
      both += p(b, g, i, j) * p(b, h, i, j);
      first += p(b, g, i, j) * p(b, g, i, j);
      second += p(b, h, i, j) * p(b, h, i, j);
    }
  }
  return both / std::sqrt(first * second);
}

double mean_square_cosine(const std::vector<AttentionMap>& maps, const Batch& batch) {
  double sum = 0, count = 0;
  for (const AttentionMap& map : maps) {
    for (std::size_t b = 0; b < batch.size; ++b) {
      const bool writes = map.path.starts_with("decoder.");
      std::size_t length = 0;
      for (std::size_t i = 0; i < map.probabilities.shape()[2]; ++i) {
        length += writes ? batch.targets(b, i) >= 0 : (*batch.mask)(b, i) == 1;
      }
      for (const auto& [g, h] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
        const double c = cosine(map.probabilities, b, std::size_t(g), std::size_t(h), length);
        sum += c * c;
        count += 1;
      }
    }
  }
  return sum / count;
}

TEST(TrainingLoss, S2_14_ThePenaltyIsTheMeanOverLayersExamplesAndPairsOfHeads) {
  Trainer<double> plain(config_of(kStill)),
      trainer(config_of(with(kStill, {"train.head_diversity=0.3"})));
  const Batch batch = trainer.hold_batch().front();
  ASSERT_TRUE(batch.mask);
  const auto maps = attention_maps(trainer.model(), trainer.parameters(), batch);
  ASSERT_EQ(maps.size(), 2u);
  const StepReport report = trainer.train_step(), without = plain.train_step();
  EXPECT_NEAR(report.head_diversity, mean_square_cosine(maps, batch), 1e-14);
  EXPECT_EQ(without.head_diversity, 0);
  EXPECT_NEAR(report.loss, without.loss, 1e-14);  // what is reported is the task's
  EXPECT_NE(report.grad_norm, without.grad_norm);
}

TEST(TrainingLoss, S2_14_ThePenaltyIsThatOfADecoderToo) {
  Trainer<double> trainer(config_of(
      with(kStill, {"model.kind=encoder_decoder", "model.layers=1", "train.head_diversity=0.3"})));
  const Batch batch = trainer.hold_batch().front();
  ASSERT_TRUE(batch.mask);
  const auto maps = attention_maps(trainer.model(), trainer.parameters(), batch);
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_NEAR(trainer.train_step().head_diversity, mean_square_cosine(maps, batch), 1e-14);
}

TEST(TrainingLoss, S2_14_WhatIsMinimisedIsTheLossAndTheWeightedPenalty) {
  const Config config = config_of(with(kStill, {"train.head_diversity=0.3"}));
  Trainer<double> trainer(config);
  const std::vector<Batch> batches = trainer.hold_batch();
  const auto minimised = [&](double weight) {
    const auto loss =
        training_loss(trainer.model(), {.head_diversity = weight}, batches[0], {.training = true},
                      step_size({.head_diversity = weight}, batches));
    EXPECT_EQ(loss.penalty.defined(), weight > 0);
    return std::array{loss.minimised.value()(), loss.task.value()(),
                      weight > 0 ? loss.penalty.value()() : 0};
  };
  const auto [all, task, penalty] = minimised(0.3);
  EXPECT_NEAR(all, task + 0.3 * penalty, 1e-15);
  const auto [alone, same, none] = minimised(0);  // by fused attention, which rounds otherwise
  EXPECT_NEAR(alone, task, 1e-14);
  EXPECT_EQ(same, alone);
  EXPECT_EQ(none, 0);
}

TEST(TrainingLoss, S2_14_GradientsOfModelsWithThePenalty) {
  const std::string end =
      "[model]\nwidth = 4\nheads = 2\nlayers = 1\nfeedforward = 4\n"
      "[train]\nsteps = 1\nhead_diversity = 0.7\n";
  const std::string reverse =
      "[task]\nname = 'reverse'\nlength = 4\nmin_length = 2\nexamples = 20\nvalidation = 2\ntest = "
      "2\n";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"model.layers=2", "model.norm=post", "model.score=cosine"},
           {"model.score=additive", "model.positions=relative_bias"},
           {"model.attention_activation=sigmoid", "model.positions=rotary", "model.mask=causal"}}) {
    const GradientReport report = check_model(parse_config(reverse + end, "test", words)).report;
    EXPECT_TRUE(report.ok()) << words[0] << "\n" << report.table();
  }
  const Config other = parse_config("[task]\nname = 'distinct'\nlength = 4\n" + end, "test",
                                    {"model.kind=encoder_decoder"});
  const GradientReport report = check_model(other).report;
  EXPECT_TRUE(report.ok()) << report.table();
}

// Micro-batches are padded to lengths of their own.
TEST(TrainingLoss, S2_14_AccumulatingIsOneLargeBatch) {
  const auto step = [](const char* batch, const char* accumulate) {
    return Trainer<double>(config_of(with(kStill, {"train.head_diversity=2", batch, accumulate})))
        .train_step();
  };
  const StepReport one = step("train.batch=12", "train.accumulate=1");
  for (const auto& [batch, accumulate] : {std::pair("train.batch=3", "train.accumulate=4"),
                                          std::pair("train.batch=1", "train.accumulate=12")}) {
    const StepReport many = step(batch, accumulate);
    EXPECT_NEAR(many.head_diversity, one.head_diversity, 1e-13);
    EXPECT_NEAR(many.grad_norm, one.grad_norm, 1e-12);
  }
}

// A loop of one's own over the micro-batches, each normalised by the targets of all of them.
TEST(TrainingLoss, ForwardBackwardAddsUpTheMicroBatches) {
  Trainer<double> trainer(config_of({"train.accumulate=3"}));
  const std::vector<Batch> batches = trainer.hold_batch();
  const Parameters<double>& parameters = trainer.parameters();
  const auto gradients = [&](const auto& fill) {
    parameters.zero_grad();
    fill();
    std::vector<Tensor<double>> all;
    for (const Parameter<double>& p : parameters) all.push_back(p.variable.grad());
    return all;
  };
  Context context = Context::train(7, 3);
  std::vector<const Batch*> seen;
  double loss = 0;
  const auto together = gradients([&] {
    forward_backward<double>(trainer.model(), {}, batches, context,
                             [&](const TrainingLoss<double>& part, const Batch& batch) {
                               seen.push_back(&batch);
                               loss += part.task.value()();
                             });
  });
  EXPECT_EQ(seen, (std::vector<const Batch*>{&batches[0], &batches[1], &batches[2]}));
  double targets = 0, expected = 0;
  for (const Batch& batch : batches) targets += weight_of_targets({}, batch);
  const auto own = gradients([&] {
    for (const Batch& batch : batches) {
      const auto outputs = trainer.model()(BatchInput<double>(batch).input(), context);
      const auto part = mean_loss({}, outputs, batch, targets);
      part.backward();
      expected += part.value()();
      context.first_sample += std::uint32_t(batch.size);
    }
  });
  EXPECT_EQ(loss, expected);
  ASSERT_EQ(together.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(test::same_bits(together[i], own[i]));
}

// Three shards of two examples: one has none, and their gradients add up to that of the batch.
TEST(TrainingLoss, ForwardBackwardOfShardsAddsUp) {
  Trainer<double> trainer(config_of({"train.batch=2"}));
  const std::vector<Batch> batches = trainer.hold_batch();
  const Parameters<double>& parameters = trainer.parameters();
  const Context context = Context::train(7, 3);
  std::size_t seen = 0;
  const auto count = [&](const TrainingLoss<double>&, const Batch& batch) { seen += batch.size; };
  parameters.zero_grad();
  for (std::size_t index = 0; index < 3; ++index) {
    forward_backward<double>(trainer.model(), {}, batches, context, count, {index, 3});
  }
  EXPECT_EQ(seen, 2u);
  std::vector<Tensor<double>> shards;
  for (const Parameter<double>& p : parameters) shards.push_back(p.variable.grad());
  parameters.zero_grad();
  forward_backward<double>(trainer.model(), {}, batches, context, count);
  auto shard = shards.begin();
  for (const Parameter<double>& p : parameters) {
    EXPECT_TENSOR_NEAR(*shard++, p.variable.grad(), 1e-13) << p.name;
  }
}

struct StopAfter final : TrainerHooks {
  explicit StopAfter(int steps) : left(steps) {}
  bool stop() override { return --left == 0; }
  int left;
};

TEST(TrainingLoss, S2_14_ARunThatGoesOnHasTheSameBits) {
  const Config config =
      config_of({"train.head_diversity=0.5", "train.accumulate=2", "train.batch=4"});
  TrainerHooks quiet;
  Trainer<float> whole(config);
  whole.run(quiet);
  const std::string last = to_hdf5(whole.capture());
  for (int k = 1; k < 5; ++k) {
    Trainer<float> first(config);
    StopAfter stop(k);
    first.run(stop);
    const Checkpoint saved = from_hdf5(to_hdf5(first.capture()), "memory");
    Trainer<float> second(parse_config(saved.config, "stored", {}), &saved);
    second.run(quiet);
    EXPECT_EQ(to_hdf5(second.capture()), last) << k;
  }
}

// As `xgrad attention` measures it, on examples that were not trained on.
double redundancy_after(const std::string& weight) {
  Trainer<float> trainer(
      config_of({"train.steps=60", "optim.lr=1e-2", "train.head_diversity=" + weight}));
  while (!trainer.finished()) trainer.train_step();
  const TaskShape shape = trainer.task().shape();
  const auto test = trainer.task().dataset(Split::test);
  const AttentionStudy study =
      study_attention(trainer.model(), trainer.parameters(), {Subset(*test, 50), shape, 50}, {});
  double sum = 0;
  for (const LayerStudy& layer : study.layers) {
    for (const auto& [g, h] : {std::pair(0u, 1u), std::pair(0u, 2u), std::pair(1u, 2u)}) {
      sum += layer.metrics.redundancy(g, h) / 6;
    }
  }
  return sum;
}

TEST(TrainingLoss, S2_14_TrainingWithThePenaltyMakesHeadsLessRedundant) {
  const double without = redundancy_after("0"), with_it = redundancy_after("1");
  EXPECT_GT(without, 0.5);
  EXPECT_LT(with_it, 0.7 * without);
}

}  // namespace
}  // namespace xgrad
