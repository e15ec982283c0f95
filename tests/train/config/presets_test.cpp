// [model] preset: settings by a name, which the config of a run states one by one.
#include <xgrad/train/config/keys.hpp>

#include <gtest/gtest.h>

#include <xgrad/data/options.hpp>
#include <xgrad/train/inspect/summary.hpp>

#include "support/gradients.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

const std::string kStart = "task.name = 'reverse'\ntrain.steps = 4\n";

Config with(const std::vector<std::string>& overrides, const std::string& text = kStart) {
  return parse_config(text, "c.toml", overrides);
}

TEST(ConfigPresets, EachValueIsOneThatItsKeyMayHave) {
  for (const auto& [preset, values] : detail::model_presets()) {
    const Config config = with({"model.preset=" + preset});
    EXPECT_FALSE(values.empty());
    for (const auto& [name, value] : values) {
      const detail::ConfigKey* key = detail::find_config_key("model", name);
      ASSERT_NE(key, nullptr) << name;
      EXPECT_EQ(problem(key->spec, value), "") << name;
      EXPECT_EQ(key->get(config), std::optional(value)) << name;
    }
  }
}

TEST(ConfigPresets, S0_12_S1_10_S1_12_ModelsOfTheBook) {
  const auto summary_of = [](const std::string& preset) {
    return summarize(with({"model.preset=" + preset, "model.layers=1", "train.batch=1"}));
  };
  const auto parameters = [](const ModelSummary& summary, const std::string& module) {
    for (const ModuleSummary& m : summary.modules) {
      if (m.path == "encoder.layers.0" + module) return m.parameters;
    }
    return std::size_t(0);
  };
  const ModelSummary mhsa = summary_of("vit_book_mhsa"), block = summary_of("vit_book_block");
  EXPECT_EQ(parameters(mhsa, ".self_attn"), 590208u);
  EXPECT_EQ(parameters(block, ""), 1773312u);
  const std::size_t n = mhsa.attentions.at(0).queries.at(2);
  EXPECT_EQ(mhsa.attentions.at(0).queries, (Shape{1, 3, n, 128}));
  EXPECT_EQ(block.attentions.at(0).queries, (Shape{1, 8, n, 48}));
}

TEST(ConfigPresets, WhatAConfigSetsItselfStays) {
  const std::string before = kStart + "model.dropout = 0.2\nmodel.preset = 'vit_book_block'\n";
  const Config config = with({"model.heads=4"}, before);
  EXPECT_EQ(config.model.width, 384u);
  EXPECT_EQ(config.model.heads, 4u);
  EXPECT_EQ(config.model.dropout, 0.2);
  EXPECT_EQ(config.model.attention_dropout, 0);
  EXPECT_EQ(with({"model.preset=vit_book_mhsa"}, before).model.heads, 3u);
}

TEST(ConfigPresets, AStoredConfigHasTheKeysAndNotTheName) {
  const Config config = with({"model.preset=vit_book_block"});
  const std::string text = to_toml(config);
  EXPECT_EQ(text.find("preset"), std::string::npos);
  EXPECT_NE(text.find("\nfeedforward = 1536\n"), std::string::npos);
  EXPECT_EQ(to_toml(with({}, text)), text);
  EXPECT_EQ(text, to_toml(with({"model.width=384", "model.heads=8", "model.feedforward=1536",
                                "model.dropout=0", "model.attention_dropout=0"})));
  EXPECT_EQ(differences(with({}), config).size(), 5u);
}

TEST(ConfigPresets, WhatCannotBe) {
  const auto refusal = [](const std::string& value, ConfigWriter writer, const std::string& says) {
    return test::throws_with<ConfigError>(
        [&] { parse_config(kStart, "c.toml", {"model.preset=" + value}, writer); }, says);
  };
  EXPECT_TRUE(refusal("vit_book_blok", ConfigWriter::user, "did you mean \"vit_book_block\"?"));
  EXPECT_TRUE(refusal("3", ConfigWriter::user, "model.preset: is an integer, 3, must be a string"));
  EXPECT_TRUE(refusal("vit_book_mhsa", ConfigWriter::xgrad,
                      "model.preset: has no effect on a run's own config, which has every key"));
}

TEST(ConfigPresets, ARunThatGoesOnHasTheSameBits) {
  const Config config = with({"model.preset=vit_book_mhsa", "model.width=12", "model.layers=1",
                              "train.batch=4", "task.length=4"});
  test::expect_the_same_bits_after_a_stop(config);
}

}  // namespace
}  // namespace xgrad
