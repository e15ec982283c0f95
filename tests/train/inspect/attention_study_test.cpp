#include <xgrad/train/inspect/attention_study.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

struct Small {
  Config config = parse_config(
      "[task]\nname = \"reverse\"\nlength = 6\nmin_length = 3\nsymbols = 8\ntest = 50\n"
      "[model]\nwidth = 12\nheads = 3\nlayers = 2\n[train]\nsteps = 30\nbatch = 16\n",
      "test", {});
  Trainer<float> trainer{config};
  std::unique_ptr<Dataset> test = trainer.task().dataset(Split::test);
  TaskShape shape = trainer.task().shape();

  Small() {
    for (int step = 0; step < 30; ++step) trainer.train_step();
  }
  AttentionStudy study(std::size_t examples) const {
    return study_attention(trainer.model(), trainer.parameters(),
                           {Subset(*test, examples), shape, 16}, Objective{});
  }
};

TEST(AttentionStudy, AHeadIsWorthWhatIsLostWithoutItsColumns) {
  const Small small;
  const AttentionStudy study = small.study(50);
  ASSERT_EQ(study.layers.size(), 2u);
  EXPECT_EQ(study.layers[1].path, "encoder.layers.1.self_attn");
  const Metrics whole = small.trainer.evaluate(Split::test);
  EXPECT_EQ(study.metrics.loss.mean(), whole.loss.mean());

  Tensor<float>& weight =
      small.trainer.parameters().at("encoder.layers.1.self_attn.out_proj.weight").mutable_value();
  for (std::size_t row = 0; row < 12; ++row) {
    for (std::size_t column = 4; column < 8; ++column) weight(row, column) = 0;
  }
  const double without = small.trainer.evaluate(Split::test).loss.mean();
  EXPECT_NEAR(study.layers[1].without[1].loss.mean(), without, 1e-6);
  EXPECT_GT(std::abs(without - whole.loss.mean()), 1e-5);
}

// Zeros in the columns of out_proj that read these heads silence them too.
TEST(AttentionStudy, SilencesHeadsOfSeveralLayersTogether) {
  const Small small;
  const auto silenced = [&](const std::vector<Head>& heads) {
    return silence_heads(small.trainer.model(), small.trainer.parameters(),
                         {*small.test, small.shape, 16}, Objective{}, heads);
  };
  const SilencedHeads result = silenced({{0, 2}, {1, 0}, {1, 1}});
  EXPECT_EQ(result.examples, 50u);
  EXPECT_EQ(result.whole.loss.mean(), small.trainer.evaluate(Split::test).loss.mean());
  const auto clear = [&](const char* layer, std::size_t from, std::size_t to) {
    Tensor<float>& weight =
        small.trainer.parameters()
            .at(std::string("encoder.layers.") + layer + ".self_attn.out_proj.weight")
            .mutable_value();
    for (std::size_t row = 0; row < 12; ++row) {
      for (std::size_t column = from; column < to; ++column) weight(row, column) = 0;
    }
  };
  clear("0", 8, 12);
  clear("1", 0, 8);
  EXPECT_NEAR(result.without.loss.mean(), small.trainer.evaluate(Split::test).loss.mean(), 1e-6);
  EXPECT_TRUE(test::throws_with<ConfigError>([&] { silenced({{0, 1}, {2, 0}}); }, "head 2.0"));
  EXPECT_TRUE(test::throws_with<ConfigError>([&] { silenced({{0, 3}}); }, "head 0.3"));
}

TEST(AttentionStudy, KnowsTheHeadsOfADecoder) {
  const Config config = parse_config(
      "[task]\nname = \"reverse\"\nlength = 6\nmin_length = 3\nsymbols = 8\ntest = 50\n[model]\n"
      "kind = \"encoder_decoder\"\nwidth = 12\nheads = 3\nlayers = 1\n[train]\nsteps = 30\n",
      "test", {});
  Trainer<float> trainer(config);
  for (int step = 0; step < 30; ++step) trainer.train_step();
  const auto test = trainer.task().dataset(Split::test);
  const TaskShape shape = trainer.task().shape();
  const auto study =
      study_attention(trainer.model(), trainer.parameters(), {*test, shape, 16}, Objective{});
  const std::string cross = "decoder.layers.0.multihead_attn";
  ASSERT_EQ(study.layers.size(), 3u);
  EXPECT_EQ(study.layers[0].path, "encoder.layers.0.self_attn");
  EXPECT_EQ(study.layers[1].path, "decoder.layers.0.self_attn");
  EXPECT_EQ(study.layers[2].path, cross);
  EXPECT_TRUE(study.forced);

  // The entropy of a head in cross-attention, from the maps of each example by itself.
  double entropy = 0, outputs = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const Example example = test->get(0, i);
    const auto maps =
        attention_maps(trainer.model(), trainer.parameters(), collate({example}, shape));
    const Tensor<double>& p = maps.at(2).probabilities;
    ASSERT_EQ(p.shape(), (Shape{1, 3, example.targets.size(), example.ids.size()}));
    for (std::size_t o = 0; o < p.shape()[2]; ++o) {
      for (std::size_t j = 0; j < p.shape()[3]; ++j) {
        entropy -= p(0, 1, o, j) * std::log(p(0, 1, o, j));
      }
      ++outputs;
    }
  }
  EXPECT_NEAR(study.layers[2].metrics.entropy(1), entropy / outputs, 1e-5);

  const SilencedHeads silenced = silence_heads(trainer.model(), trainer.parameters(),
                                               {*test, shape, 16}, Objective{}, {{2, 1}});
  EXPECT_EQ(silenced.without.loss.mean(), study.layers[2].without[1].loss.mean());
  Tensor<float>& weight = trainer.parameters().at(cross + ".out_proj.weight").mutable_value();
  for (std::size_t row = 0; row < 12; ++row) {
    for (std::size_t column = 4; column < 8; ++column) weight(row, column) = 0;
  }
  const double without = trainer.evaluate(Split::test).loss.mean();
  EXPECT_NEAR(silenced.without.loss.mean(), without, 1e-6);
  EXPECT_GT(std::abs(without - study.metrics.loss.mean()), 1e-5);
}

TEST(AttentionStudy, StudiesNoMoreExamplesThanAsked) {
  const Small small;
  EXPECT_EQ(small.study(7).examples, 7u);
  EXPECT_EQ(small.study(7).metrics.exact.count(), 7);
  EXPECT_EQ(small.study(1000).examples, 50u);
}

TEST(AttentionStudy, PaddingIsNotLookedAt) {
  const Small small;
  const Batch batch =
      collate({{{1, 2, 3}, {}, {3, 2, 1}}, {{1, 2, 3, 4, 5, 6}, {}, {}}}, small.shape);
  const auto maps = attention_maps(small.trainer.model(), small.trainer.parameters(), batch);
  ASSERT_EQ(maps.size(), 2u);
  const Tensor<double>& p = maps[0].probabilities;
  ASSERT_EQ(p.shape(), (Shape{2, 3, 6, 6}));
  EXPECT_EQ(p(0, 0, 0, 4), 0);
  EXPECT_GT(p(1, 0, 0, 4), 0);
}

TEST(AttentionStudy, DrawsAMap) {
  Tensor<double> p = zeros<double>({1, 1, 2, 2});
  p(0, 0, 0, 0) = 1;
  p(0, 0, 1, 0) = 0.35;
  p(0, 0, 1, 1) = 0.65;
  EXPECT_EQ(heat_map(p, 0, 0, {"größer", "x"}, {"größer", "x"}),
            "         gr x \n"
            "größer   @@   \n"
            "x        -- **\n");
}

using Colour = std::vector<std::uint8_t>;

Colour at(const Picture& picture, std::size_t row, std::size_t column) {
  const auto first = picture.rgb.begin() + std::ptrdiff_t(3 * (row * picture.width + column));
  return {first, first + 3};
}

const Colour kWhite = {247, 247, 247}, kBlue = {8, 48, 107};

// One sample of two heads, with two queries and three keys.
AttentionMap map() {
  return {"a", test::tensor<double>({1, 2, 2, 3}, {0, 0.125, 0.5, 0.5, 0, 0,  //
                                                   0, 0, 0, 0, 0.25, 1})};
}

// A row for each query and a column for each key; a quarter of the largest weight is half as dark.
TEST(AttentionPicture, OfAHeadHasAPixelForEachWeight) {
  const Picture picture = head_picture(map(), 0);
  EXPECT_EQ(picture.width, 3u);
  EXPECT_EQ(picture.height, 2u);
  EXPECT_EQ(at(picture, 0, 0), kWhite);
  EXPECT_EQ(at(picture, 0, 1), (Colour{127, 147, 177}));
  EXPECT_EQ(at(picture, 0, 2), kBlue);
  EXPECT_EQ(at(picture, 1, 0), kBlue);
  EXPECT_EQ(at(head_picture(map(), 1), 1, 1), (Colour{127, 147, 177}));
}

// Squares of 128 / 3 pixels, and four grey columns between the heads.
TEST(AttentionPicture, OfAllHeadsHasSquaresSideBySide) {
  const Picture all = heads_picture(map());
  EXPECT_EQ(all.width, 2 * 126u + 4);
  EXPECT_EQ(all.height, 84u);
  for (std::size_t head : {0, 1}) {
    const Picture own = head_picture(map(), head);
    for (std::size_t i = 0; i < 84; ++i) {
      for (std::size_t j = 0; j < 126; ++j) {
        ASSERT_EQ(at(all, i, head * 130 + j), at(own, i / 42, j / 42)) << i << ", " << j;
      }
      for (std::size_t j = 126; j < 130; ++j) ASSERT_EQ(at(all, i, j), (Colour{160, 160, 160}));
    }
  }
}

}  // namespace
}  // namespace xgrad
