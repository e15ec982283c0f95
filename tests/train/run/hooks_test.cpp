#include <xgrad/train/run/session.hpp>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/temporary_directory.hpp"

namespace xgrad {
namespace {

Config config_of(const std::string& log, const std::string& directory = "none") {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 4\nexamples = 100\nvalidation = 20\ntest = 20\n"
      "[model]\nwidth = 8\nheads = 2\nlayers = 1\n[train]\nsteps = 6\nbatch = 8\n[log]\n" +
          log,
      "test", {"run.dir=" + directory});
}

struct Counter : TrainerHooks {
  Counter(int& count, std::int64_t by) : count(count), by(int(by)) {}
  void on_step(const StepReport&) override { count += by; }
  int& count;
  int by;
};

TEST(Hooks, AConfigTurnsThemOn) {
  int first = 0, second = 0;
  const auto add = [](const std::string& name, int& count) {
    add_hook({name, "counts.", {{name + "_by", 1, "Counts in steps of this.", 1, 9}}},
             [&count, name](const Options& own) {
               return std::make_shared<Counter>(count, get_int(own, name + "_by"));
             });
  };
  EXPECT_EQ(
      test::message_of<ConfigError>([] { config_of("hooks = 'tally'\n"); }),
      "test:15:9: log.hooks: there is no hook \"tally\"; there are none: a program can add some");
  add("tally", first);
  add("twice", second);
  EXPECT_EQ(test::message_of<ConfigError>([&] { add("tally", first); }),
            "log.hooks: 'tally' exists already");
  EXPECT_EQ(test::message_of<ConfigError>([] { config_of("hooks = 'tally,talli'\n"); }),
            "test:15:9: log.hooks: there is no hook \"talli\"; there are tally, twice");
  EXPECT_EQ(test::message_of<ConfigError>([] { config_of("hooks = 'tally'\ntwice_by = 2\n"); }),
            "test:16:1: log.twice_by: is not a key of log.hooks = \"tally\", but of twice");
  const test::TemporaryDirectory folder;
  const Config config = config_of("hooks = 'tally, twice'\ntwice_by = 2\n", folder.path() + "/run");
  EXPECT_EQ(start_run(config, "test.toml", {.quiet = true}).signal, 0);
  EXPECT_EQ(first, 6);
  EXPECT_EQ(second, 12);
  EXPECT_TRUE(make_hooks(config_of("")).empty());

  // Programs without the hooks read what this one stores, but do not run it without them.
  EXPECT_EQ(to_toml(config_of("")).find("_by"), std::string::npos);
  EXPECT_NE(to_toml(config).find("twice_by = 2"), std::string::npos);
  const auto stored = [](const std::string& hooks) {
    return parse_config("[task]\nname = 'reverse'\n[train]\nsteps = 6\n[log]\nhooks = '" + hooks +
                            "'\nother_by = 2\n",
                        "run", {}, ConfigWriter::xgrad);
  };
  EXPECT_EQ(test::message_of<ConfigError>([&] { make_hooks(stored("other, tally")); }),
            "log.hooks: there is no hook \"other\"; there are tally, twice");
  EXPECT_NE(test::message_of<ConfigError>([&] { stored("tally"); }).find("log.other_by"),
            std::string::npos);
}

}  // namespace
}  // namespace xgrad
