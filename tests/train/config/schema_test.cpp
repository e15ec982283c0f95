// The JSON Schema of configs. tests/cli/schema_test.py validates configs by it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {
namespace {

TEST(Schema, HasEveryKeyOfEverySection) {
  const auto sections = nlohmann::json::parse(config_schema())["properties"];
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section == "task" && key.spec.name != "name") continue;  // they depend on the name
    EXPECT_TRUE(sections[key.section]["properties"].contains(key.spec.name))
        << key.section << '.' << key.spec.name;
  }
}

}  // namespace
}  // namespace xgrad
