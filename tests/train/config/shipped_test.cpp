// The configs that come with xgrad.
#include <gtest/gtest.h>

#include <filesystem>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/config/toml.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

bool claims_a_result(const ExpectConfig& expect) {
  return expect.accuracy || expect.exact_match || expect.below_ceiling || expect.above_floor ||
         expect.above_baseline || expect.at_token_ceiling || expect.accuracy_below ||
         expect.bits_per_character;
}

TEST(ShippedConfigs, AreValidNamedAfterTheirTaskAndClaimSomething) {
  ASSERT_FALSE(test::shipped_configs().empty());
  for (const std::string& path : test::shipped_configs()) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(path.ends_with(".toml"));
    const Config config = load_config(path, {});
    EXPECT_TRUE(std::filesystem::path(path).stem().string().starts_with(config.task));
    EXPECT_TRUE(claims_a_result(config.expect));
    EXPECT_EQ(config.run_dir, "");
    EXPECT_EQ(config.train.threads, 0);
  }
}

// A line that says what holds anyway hides those that matter; only the task may be stated in full.
TEST(ShippedConfigs, SayOnlyWhatDiffersFromTheDefaults) {
  for (const std::string& path : test::shipped_configs()) {
    const detail::Document document = detail::parse_document(read_file(path));
    const Config config = load_config(path, {}), fresh;
    for (const detail::Assignment& a : document.assignments) {
      if (a.section == "task") continue;
      if (a.section == "optim" && a.key == "groups") {
        EXPECT_FALSE(config.optim.groups.empty()) << path;
        continue;
      }
      const detail::ConfigKey* key = detail::find_config_key(a.section, a.key);
      ASSERT_NE(key, nullptr);
      EXPECT_NE(key->get(config), key->get(fresh)) << path << ": " << key->name();
    }
  }
}

}  // namespace
}  // namespace xgrad
