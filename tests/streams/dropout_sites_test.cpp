// Every dropout site of every kind of model draws its own masks, with the rate that the config
// sets.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include <xgrad/train/loop/trainer.hpp>

#include "streams/draws.hpp"

namespace xgrad {
namespace {

using test::MaskRow;
using Masks = std::map<MaskRow, std::vector<double>>;

constexpr double kRate = 0.3, kAttentionRate = 0.15;
constexpr std::uint64_t kSeed = 5, kSteps = 4;
constexpr std::size_t kBatch = 8;

Config config_of(const std::vector<std::string>& overrides) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 8\n"
      "[model]\nwidth = 16\nheads = 2\nlayers = 2\ndropout = 0.3\nattention_dropout = 0.15\n"
      "[train]\nsteps = 4\nbatch = 8\nevaluate_every = 4\nseed = 5\n",
      "sites.toml", overrides);
}

// The sites of a model with two layers, with their rates. A site is named after the module that
// drops, "dropout1" after the first sublayer of a block.
std::map<std::string, double> sites_of(const std::string& kind) {
  std::map<std::string, double> sites;
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    if (kind == "mlp" || kind == "window_mlp") {
      sites[layer.substr(0, layer.size() - 1)] = kRate;
      continue;
    }
    for (const char* after : {"linear1", "dropout1", "dropout2"}) {
      sites["encoder." + layer + after] = kRate;
    }
    sites["encoder." + layer + "self_attn"] = kAttentionRate;
    if (kind == "encoder") continue;
    for (const char* after : {"linear1", "dropout1", "dropout2", "dropout3"}) {
      sites["decoder." + layer + after] = kRate;
    }
    for (const char* map : {"self_attn", "multihead_attn"}) {
      sites["decoder." + layer + map] = kAttentionRate;
    }
  }
  return sites;
}

std::uint64_t key_of(const std::string& site, std::uint64_t step) {
  return (Rng(kSeed) / "dropout" / step / (Rng(0) / site).key()).key();
}

// How often two masks of one rate agree, or one mask keeps: n trials with probability `expected`,
// to five standard deviations.
struct Share {
  double expected, hits = 0, n = 0;

  void add(bool hit) {
    hits += hit;
    n += 1;
  }
  void check(double least) const {
    EXPECT_GE(n, least);
    EXPECT_NEAR(hits / n, expected, 5 * std::sqrt(expected * (1 - expected) / n));
  }
};

// The mask at `at` agrees with that at `other` as often as independent ones do.
void compare(const MaskRow& at, const MaskRow& other, Share& share) {
  const auto found = test::masks.find(at), second = test::masks.find(other);
  if (found == test::masks.end() || second == test::masks.end()) return;
  const std::size_t n = std::min(found->second.size(), second->second.size());
  for (std::size_t i = 0; i < n; ++i) {
    const double a = found->second[i], b = second->second[i];
    if (!std::isnan(a) && !std::isnan(b)) share.add((a == 0) == (b == 0));
  }
}

// `heads_of_site`: how many heads are counted apart from tokens.
void check_site(const std::string& site, double rate, std::size_t heads_of_site) {
  Share kept{1 - rate};
  const double agree = rate * rate + (1 - rate) * (1 - rate);
  Share steps{agree}, samples{agree}, tokens{agree}, heads{agree};
  std::set<std::uint32_t> met, heads_met;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const MaskRow first{key_of(site, step)};
    for (auto row = test::masks.lower_bound(first);
         row != test::masks.end() && row->first.key == first.key; ++row) {
      MaskRow other = row->first;
      met.insert(other.sample);
      heads_met.insert(other.head);
      for (const double factor : row->second) {
        if (std::isnan(factor)) continue;
        kept.add(factor != 0);
        if (factor != 0) {
          ASSERT_NEAR(factor * (1 - rate), 1, 1e-4);  // p is a multiple of 2^-16
        }
      }
      other.key = key_of(site, step + 1);
      compare(row->first, other, steps);
      other = row->first, ++other.sample;
      compare(row->first, other, samples);
      other = row->first, ++other.token;
      compare(row->first, other, tokens);
      other = row->first, ++other.head;
      compare(row->first, other, heads);
    }
  }
  kept.check(1500);
  for (const Share* share : {&steps, &samples, &tokens}) share->check(1000);
  if (heads_of_site > 1) heads.check(1000);
  EXPECT_EQ(met.size(), kBatch);
  EXPECT_EQ(heads_met.size(), heads_of_site);
}

void train(const Config& config) {
  TrainerHooks hooks;
  Trainer<float>(config).run(hooks);
}

struct Run {
  const char* name;
  std::string kind;
  std::vector<std::string> overrides;
  bool fused = true;  // attention of ops counts its heads as tokens
};

void PrintTo(const Run& run, std::ostream* stream) {
  *stream << run.name;
}

class DropoutSites : public testing::TestWithParam<Run> {};

TEST_P(DropoutSites, HaveMasksOfTheirOwn) {
  std::vector<std::string> overrides = GetParam().overrides;
  overrides.push_back("model.kind=" + GetParam().kind);
  const std::map<std::string, double> sites = sites_of(GetParam().kind);
  test::clear_draws();
  train(config_of(overrides));

  std::map<std::uint64_t, std::string> expected;
  for (const auto& [site, rate] : sites) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      expected[key_of(site, step)] = site + " in step " + std::to_string(step);
    }
  }
  for (const auto& [key, name] : expected) {
    EXPECT_TRUE(test::drawn["dropout"].contains(key)) << "no mask of " << name;
  }
  EXPECT_EQ(test::drawn["dropout"].size(), expected.size());
  for (const auto& [site, rate] : sites) {
    SCOPED_TRACE(site);
    check_site(site, rate, rate == kAttentionRate && GetParam().fused ? 2 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DropoutSites,
    testing::Values(
        Run{"encoder", "encoder", {}}, Run{"post", "encoder", {"model.norm=post"}},
        Run{"sandwich", "encoder", {"model.norm=sandwich"}},
        Run{"no_norm", "encoder", {"model.norm=none", "optim.lr=1e-5"}},
        Run{"gelu_tanh", "encoder", {"model.activation=gelu_tanh"}},
        Run{"relu", "encoder", {"model.activation=relu", "model.score=cosine"}},
        Run{"silu", "encoder", {"model.activation=silu", "model.score=additive"}, false},
        Run{"sigmoid", "encoder", {"model.attention_activation=sigmoid"}, false},
        Run{"rotary", "encoder", {"model.positions=rotary"}},
        Run{"alibi", "encoder", {"model.positions=alibi", "model.mask=causal"}},
        Run{"encoder_decoder", "encoder_decoder", {"task.name=distinct", "train.recompute=true"}},
        Run{"mlp", "mlp", {}}, Run{"mlp_relu", "mlp", {"model.activation=relu"}},
        Run{"window_mlp", "window_mlp", {"model.window=3"}},
        Run{"window_mlp_silu", "window_mlp", {"model.activation=silu"}}),
    [](const auto& run) { return std::string(run.param.name); });

// Whole examples are skipped, at each sublayer by itself: half as often in the first of two layers.
TEST(StochasticDepth, HasAMaskOfItsOwnForEverySublayer) {
  constexpr std::size_t kExamples = 600;
  for (const std::string kind : {"encoder", "encoder_decoder"}) {
    std::map<std::uint64_t, double> rates;  // by stream
    std::vector<std::uint64_t> keys;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      for (const char* stack : {"encoder.", "decoder."}) {
        if (kind == "encoder" && stack[0] == 'd') continue;
        for (int layer = 0; layer < 2; ++layer) {
          for (int sublayer = 1; sublayer <= (stack[0] == 'd' ? 3 : 2); ++sublayer) {
            keys.push_back(key_of(stack + ("layers." + std::to_string(layer)) +
                                      ".stochastic_depth" + std::to_string(sublayer),
                                  step));
            rates[keys.back()] = 0.4 * (layer + 1) / 2;
          }
        }
      }
    }
    test::clear_draws();
    train(config_of({"model.kind=" + kind, kind == "encoder" ? "log.every=1" : "task.name=distinct",
                     "model.dropout=0", "model.attention_dropout=0", "model.stochastic_depth=0.4",
                     "train.batch=" + std::to_string(kExamples)}));
    EXPECT_EQ(test::drawn["dropout"].size(), rates.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double rate = rates.at(keys[i]);
      const double other = rates.at(keys[(i + 1) % keys.size()]);
      Share kept{1 - rate}, agree{rate * other + (1 - rate) * (1 - other)};
      for (std::uint32_t sample = 0; sample < kExamples; ++sample) {
        const auto row = test::masks.find({keys[i], sample, 0, 0});
        const auto next = test::masks.find({keys[(i + 1) % keys.size()], sample, 0, 0});
        ASSERT_TRUE(row != test::masks.end() && next != test::masks.end()) << i << " " << sample;
        ASSERT_EQ(row->second.size(), 1u);
        const double factor = row->second[0];
        kept.add(factor != 0);
        agree.add((factor == 0) == (next->second[0] == 0));
        if (factor != 0) {
          ASSERT_NEAR(factor * (1 - rate), 1, 1e-4);
        }
      }
      kept.check(kExamples);
      agree.check(kExamples);
    }
  }
}

// The masks of a run, all steps together.
Masks masks_of(const std::function<void()>& run) {
  test::clear_draws();
  run();
  EXPECT_FALSE(test::masks.empty());
  return test::masks;
}

class SameDropout : public testing::TestWithParam<const char*> {};

// A mask is a function of seed, step, site and place in the logical batch.
TEST_P(SameDropout, HoweverTheStepIsComputed) {
  const std::string kind = GetParam();
  const auto with = [&](std::vector<std::string> overrides) {
    overrides.push_back("model.kind=" + kind);
    if (kind == "encoder_decoder") overrides.push_back("task.name=distinct");
    if (kind != "mlp") overrides.push_back("model.stochastic_depth=0.4");
    return config_of(overrides);
  };
  const Masks whole = masks_of([&] { train(with({})); });
  if (kind != "mlp") {
    EXPECT_EQ(masks_of([&] { train(with({"train.recompute=true"})); }), whole);
  }
  const Masks resumed = masks_of([&] {
    struct Once final : TrainerHooks {
      bool stop() override { return true; }
    } once;
    Trainer<float> first(with({}));
    first.run(once);
    const Checkpoint saved = first.capture();
    TrainerHooks hooks;
    Trainer<float>(with({}), &saved).run(hooks);
  });
  EXPECT_EQ(resumed, whole);
  // Outputs of a micro-batch are padded to its own longest one.
  const Masks parts = masks_of([&] { train(with({"train.batch=4", "train.accumulate=2"})); });
  EXPECT_GE(double(parts.size()), 0.9 * double(whole.size()));
  for (const auto& [row, factors] : parts) {
    ASSERT_TRUE(whole.contains(row)) << "sample " << row.sample << ", token " << row.token;
    const std::vector<double>& other = whole.at(row);
    for (std::size_t i = 0; i < std::min(factors.size(), other.size()); ++i) {
      ASSERT_EQ(factors[i], other[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SameDropout, testing::Values("encoder", "encoder_decoder", "mlp"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace xgrad
