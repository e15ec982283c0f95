#include <xgrad/train/inspect/summary.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {
namespace {

Config config_of(std::size_t layers, std::size_t width, std::size_t heads,
                 const std::vector<std::string>& overrides = {}) {
  return parse_config(
      "[task]\nname = \"reverse\"\nlength = 10\nsymbols = 12\n[train]\nsteps = 2\nbatch = 2\n"
      "[model]\nwidth = " +
          std::to_string(width) + "\nheads = " + std::to_string(heads) +
          "\nlayers = " + std::to_string(layers) + "\n",
      "test", overrides);
}

const ModuleSummary& at(const ModelSummary& summary, const std::string& path) {
  const auto found = std::find_if(summary.modules.begin(), summary.modules.end(),
                                  [&](const ModuleSummary& m) { return m.path == path; });
  check<Error>(found != summary.modules.end(), "no module ", path);
  return *found;
}

// S1.10: width 384, heads 8, no bias on q, k and v:
// norms 2 * 2 * 384, in_proj 3 * 384^2, out_proj 384^2 + 384, MLP 2 * 4 * 384^2 + 4 * 384 + 384.
TEST(Summary, S1_10_CountsTheParametersOfTheBookBlock) {
  const ModelSummary summary = summarize(config_of(1, 384, 8));
  EXPECT_EQ(at(summary, "encoder.layers.0").parameters, 1773312u);
  EXPECT_EQ(at(summary, "encoder.layers.0.self_attn").parameters, 4u * 384 * 384 + 384);
  EXPECT_EQ(at(summary, "embedding").parameters, (12u + 10) * 384);
  EXPECT_EQ(at(summary, "").parameters, 1773312u + (12 + 10) * 384 + 2 * 384 + 12 * 384 + 12);
}

// B = 2, N = 10, H = 3, d = 4; the same whether attention is one op or several, and the scores are
// those of the layer's own map.
TEST(Summary, S0_15_ShapesInsideOfAttention) {
  const std::vector<std::vector<std::string>> kinds = {
      {"model.score=dot"},
      {"model.score=additive"},
      {"model.score=cosine", "model.positions=relative_bias"},
      {"model.attention_activation=relu", "model.positions=rotary"},
      {"train.head_diversity=0.1"},
      {"train.head_diversity=0.1", "model.attention_activation=sigmoid"},
      {"train.recompute=true", "train.accumulate=2"}};
  for (const std::vector<std::string>& overrides : kinds) {
    const Config config = config_of(2, 12, 3, overrides);
    const ModelSummary summary = summarize(config);
    ASSERT_EQ(summary.attentions.size(), 2u) << overrides.back();
    Trainer<float> trainer(config);
    const auto maps =
        attention_maps(trainer.model(), trainer.parameters(), trainer.hold_batch().front());
    for (std::size_t i = 0; i < 2; ++i) {
      const AttentionSummary& a = summary.attentions[i];
      EXPECT_EQ(a.path, "encoder.layers." + std::to_string(i) + ".self_attn");
      EXPECT_EQ(a.queries, (Shape{2, 3, 10, 4}));
      EXPECT_EQ(a.keys, (Shape{2, 3, 4, 10}));
      EXPECT_EQ(a.scores, (Shape{2, 3, 10, 10}));
      EXPECT_EQ(a.values, (Shape{2, 3, 10, 4}));
      EXPECT_EQ(a.joined, (Shape{2, 10, 12}));
      EXPECT_EQ(maps[i].path, a.path);
      EXPECT_EQ(maps[i].probabilities.shape(), a.scores);
    }
  }
}

// Each of two shards has half of the examples, so its forward pass takes half of the operations.
TEST(Summary, S0_15_ShapesOfAShard) {
  const ModelSummary whole = summarize(config_of(1, 12, 3, {"train.batch=6"}));
  const ModelSummary half = summarize(config_of(1, 12, 3, {"train.batch=6", "train.shards=2"}));
  ASSERT_EQ(half.attentions.size(), 1u);
  EXPECT_EQ(half.attentions[0].scores[0], 3u);
  EXPECT_EQ(half.activations[0].second[0], 3u);
  EXPECT_EQ(at(half, "").output[0], 3u);
  EXPECT_EQ(half.examples, 3u);
  EXPECT_EQ(half.input, "(3, 10) token ids");
  EXPECT_EQ(2 * at(half, "").flops, at(whole, "").flops);
  EXPECT_EQ(half.step_flops, whole.step_flops);
}

// Outputs attend to inputs: as many queries as outputs, as many keys as inputs.
TEST(Summary, S0_15_ShapesInsideOfCrossAttention) {
  const Config config = parse_config(
      "task.name = 'distinct'\ntrain = {steps = 2, batch = 4}\nmodel = {kind = 'encoder_decoder', "
      "width = 12, heads = 3, layers = 1}\n",
      "test", {});
  Trainer<float> trainer(config);
  const Batch& batch = trainer.hold_batch().front();
  const std::size_t n = batch.ids.shape()[1], m = batch.targets.shape()[1];
  ASSERT_NE(n, m);
  const ModelSummary summary = summarize(config);
  ASSERT_EQ(summary.attentions.size(), 3u);
  EXPECT_EQ(summary.attentions[1].path, "decoder.layers.0.self_attn");
  EXPECT_EQ(summary.attentions[1].scores, (Shape{4, 3, m, m}));
  const AttentionSummary& cross = summary.attentions[2];
  EXPECT_EQ(cross.path, "decoder.layers.0.multihead_attn");
  EXPECT_EQ(cross.queries, (Shape{4, 3, m, 4}));
  EXPECT_EQ(cross.keys, (Shape{4, 3, 4, n}));
  EXPECT_EQ(cross.scores, (Shape{4, 3, m, n}));
  EXPECT_EQ(cross.joined, (Shape{4, m, 12}));
}

// By hand for B = 2 rows of N = 10: 2 B N in out for each linear map, and 2 * 2 B N^2 D for scores
// and values.
TEST(Summary, CountsTheProductsOfForward) {
  const ModelSummary summary = summarize(config_of(1, 384, 8));
  const std::uint64_t tokens = 2 * 10, d = 384;
  const std::uint64_t attention = 2 * tokens * 4 * d * d + 4 * tokens * 10 * d;
  const std::uint64_t mlp = 2 * tokens * 2 * 4 * d * d;
  EXPECT_EQ(at(summary, "encoder.layers.0.self_attn").flops, attention);
  EXPECT_EQ(at(summary, "encoder.layers.0").flops, attention + mlp);
  EXPECT_EQ(at(summary, "encoder.layers.0.linear1").flops, mlp / 2);
  EXPECT_EQ(at(summary, "head").flops, 2 * tokens * d * 12);
  EXPECT_EQ(at(summary, "").flops, attention + mlp + 2 * tokens * d * 12);
  EXPECT_EQ(at(summary, "encoder.layers.0.linear1").output, (Shape{2, 10, 4 * 384}));
  EXPECT_EQ(at(summary, "").output, (Shape{2, 10, 12}));
}

// Without layers and norm: token ids (4 B each, targets too), the embedding and its sum with the
// positions, the logits, and the probabilities that the loss keeps, 4 B a number.
TEST(Summary, MeasuresWhatForwardKeeps) {
  Config config = config_of(0, 16, 1);
  config.model.final_norm = false;
  config.train.batch = 40;
  const ModelSummary small = summarize(config);
  config.train.batch = 80;
  const ModelSummary large = summarize(config);
  // What grows with a row of ten tokens: ids and targets twice (the batch is held and used), one
  // sum of embedding and position, logits, probabilities.
  const std::int64_t row = 10 * (4 * 16 + 4 * 12);
  EXPECT_GE(large.kept_bytes - small.kept_bytes, 40 * row);
  EXPECT_LE(large.kept_bytes - small.kept_bytes, 40 * (row + 10 * (4 * 16 + 4 * 12 + 16)));
  EXPECT_GT(large.peak_bytes, large.kept_bytes);
  EXPECT_EQ(large.weight_bytes, 4 * at(large, "").parameters);
  EXPECT_EQ(large.optimizer_bytes, 2 * large.weight_bytes) << "two moments of AdamW";
}

// Of a width of 384 gradients have memory that goes with each step.
TEST(Summary, WhatForwardKeepsIsBesideGradients) {
  Config config = config_of(1, 384, 8);
  const ModelSummary one = summarize(config);
  EXPECT_GT(one.kept_bytes, 20 * 8 * 384 * 4);
  EXPECT_LT(one.kept_bytes, 20 * 30 * 384 * 4);
  EXPECT_GE(one.peak_bytes, one.kept_bytes);
  config.train.accumulate = 3;
  EXPECT_NEAR(double(summarize(config).kept_bytes), double(one.kept_bytes), 10000)
      << "of one micro-batch";
}

TEST(Summary, CountsAccumulatedBatches) {
  Config config = config_of(1, 16, 2);
  const ModelSummary one = summarize(config);
  config.train.accumulate = 3;
  const ModelSummary three = summarize(config);
  EXPECT_EQ(three.step_flops, 3 * one.step_flops);
  EXPECT_EQ(three.modules.front().flops, one.modules.front().flops) << "of one batch";
  EXPECT_EQ(three.examples, one.examples);
  // Attention forms its scores anew in backward; all other products cost twice the forward.
  EXPECT_GE(one.step_flops, 3 * one.modules.front().flops - one.modules.front().flops / 2);
}

TEST(Summary, FrozenParametersAreNotTrained) {
  Config config = config_of(1, 16, 2);
  const ModelSummary all = summarize(config);
  config.optim.groups = {{.match = "encoder.*", .freeze = true}};
  const ModelSummary some = summarize(config);
  EXPECT_EQ(at(some, "encoder").parameters, 0u);
  EXPECT_EQ(at(some, "").parameters, at(all, "").parameters - at(all, "encoder").parameters);
  EXPECT_EQ(some.frozen, at(all, "encoder").parameters);
  EXPECT_EQ(some.weight_bytes, all.weight_bytes);
  EXPECT_EQ(some.gradient_bytes, 4 * at(some, "").parameters);
  EXPECT_EQ(some.optimizer_bytes, 2 * some.gradient_bytes);
  EXPECT_NE(to_text(some).find(" frozen\n"), std::string::npos);
  EXPECT_EQ(to_text(all).find("frozen"), std::string::npos);
}

// Of a block of width D forward keeps 15 D numbers a token or so, and its input is one of them.
TEST(Summary, RecomputeKeepsBlocksInputsAlone) {
  Config config = config_of(6, 16, 2);
  config.train.batch = 64;
  const ModelSummary kept = summarize(config);
  config.train.recompute = true;
  const ModelSummary again = summarize(config);
  EXPECT_LT(4 * again.kept_bytes, kept.kept_bytes);
  EXPECT_LT(2 * again.peak_bytes, kept.peak_bytes);
  EXPECT_EQ(again.modules.front().flops, kept.modules.front().flops);
  // Each block's forward once more, and nothing else.
  const std::uint64_t blocks = at(kept, "encoder").flops;
  EXPECT_EQ(again.step_flops, kept.step_flops + blocks);
}

TEST(Summary, TextHasARowForEachModule) {
  const ModelSummary summary = summarize(config_of(2, 16, 2));
  const std::string text = to_text(summary);
  for (const char* name :
       {"\n        self_attn", "\n        linear2", "\nmodel", "one forward pass over (2, 10)"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name << "\n" << text;
  }
  EXPECT_EQ(text.find(" \n"), std::string::npos);
}

}  // namespace
}  // namespace xgrad
