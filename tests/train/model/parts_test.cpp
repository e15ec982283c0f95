#include <xgrad/train/model/parts.hpp>

#include <cmath>

#include <gtest/gtest.h>

#include <xgrad/train/model/build.hpp>

#include "support/errors.hpp"

namespace xgrad {
namespace {

ScheduleMaker falling() {
  return [](const Config& config, std::uint64_t steps, const Options& own) {
    const double last = get_double(own, "last_rate");
    return [=](std::uint64_t s) {
      return config.optim.lr + (last - config.optim.lr) * double(s) / double(steps);
    };
  };
}

std::string refused(const PartEntry& part) {
  return test::message_of<ConfigError>([&] { add_schedule(part, falling()); });
}

Config parsed(const std::string& schedule) {
  return parse_config("[task]\nname = 'reverse'\n[train]\nsteps = 10\n[schedule]\n" + schedule,
                      "test", {});
}

TEST(Parts, WhatIsTakenOrNoNameIsRefused) {
  EXPECT_EQ(refused({"cosine", "."}), "schedule.name: 'cosine' exists already");
  EXPECT_EQ(refused({"My line", "."}),
            "schedule: \"My line\" is not a name of lower-case letters, digits and _");
  EXPECT_EQ(refused({"line", ".", {{"gamma", 1.0, "."}}}),
            "schedule.gamma: exists already, so line cannot have it");
  EXPECT_EQ(refused({"line", ".", {{"end", 1.0, "."}, {"end", 1, "."}}}),
            "schedule.end: exists already, so line cannot have it");
  EXPECT_EQ(refused({"line", ".", {{"", 1.0, "."}}}),
            "schedule, line: \"\" is not a name of lower-case letters, digits and _");
  EXPECT_EQ(refused({"line", ".", {}, {"gama"}}),
            "schedule.gama: line cannot read this key, because no other part has it");
  EXPECT_EQ(refused({"line", ".", {}, {"warmup"}}),
            "schedule.warmup: line cannot read this key, because no other part has it");
}

// All in one test: what a program adds stays.
TEST(Parts, AScheduleWithKeysOfItsOwn) {
  add_schedule(
      {"to_a_rate", "falls in a line.", {{"last_rate", 0.5, "Last rate.", 0, 2}}, {"power"}},
      falling());
  EXPECT_EQ(refused({"to_a_rate", "."}), "schedule.name: 'to_a_rate' exists already");
  EXPECT_EQ(refused({"other", ".", {{"last_rate", 1.0, "."}}}),
            "schedule.last_rate: exists already, so other cannot have it");

  Config config = parsed("name = 'to_a_rate'\nlast_rate = 1\npower = 2\n");
  config.optim.lr = 3;
  const Schedule schedule = make_schedule(config, 10);
  EXPECT_EQ(schedule(0), 3);
  EXPECT_EQ(schedule(5), 2);
  const Config unset = parsed("name = 'to_a_rate'\n");
  EXPECT_EQ(make_schedule(unset, 10)(10), 0.5);

  // The stored config reads back the same, and only this schedule has the key.
  const std::string stored = to_toml(config);
  EXPECT_NE(stored.find("last_rate = 1.0"), stored.npos) << stored;
  EXPECT_EQ(to_toml(parse_config(stored, "test", {}, ConfigWriter::xgrad)), stored);
  EXPECT_EQ(to_toml(parsed("")).find("last_rate"), std::string::npos);
  const auto problem = [](const std::string& text) {
    return test::message_of<ConfigError>([&] { parsed(text); });
  };
  EXPECT_EQ(problem("name = 'to_a_rate'\nlast_rate = 3\n"),
            "test:7:13: schedule.last_rate: is 3, must be from 0 to 2");
  EXPECT_EQ(problem("name = 'linear'\nlast_rate = 1\n"),
            "test:7:1: schedule.last_rate: is not a key of schedule.name = \"linear\", but of "
            "to_a_rate");
  EXPECT_NE(problem("name = 'to_a_rate'\nlast_rat = 1\n").find("last_rate"), std::string::npos);
}

TEST(Parts, ARateThatIsNoneEndsTheRun) {
  add_schedule({"to_below_zero", "falls too far."}, [](const Config&, std::uint64_t, const auto&) {
    return [](std::uint64_t s) { return s < 3 ? 2 - double(s) : std::nan(""); };
  });
  const Schedule schedule = make_schedule(parsed("name = 'to_below_zero'\n"), 10);
  EXPECT_EQ(schedule(2), 0);
  EXPECT_EQ(test::message_of<ConfigError>([&] { schedule(3); }),
            "schedule.name: to_below_zero gives nan as the learning rate of step 3, must be finite "
            "and at least 0");
  add_schedule({"below_zero", "is wrong."}, [](const Config&, std::uint64_t, const auto&) {
    return [](std::uint64_t) { return -1e-9; };
  });
  EXPECT_NE(
      test::message_of<ConfigError>([&] { make_schedule(parsed("name = 'below_zero'\n"), 1)(0); }),
      "");
}

// A model that does nothing.
template <class T>
struct Silent : SequenceModel<T> {
  Silent(const Scope<T>&, const ModelConfig&, const TaskShape&, const Options&) {}
  Variable<T> operator()(const ModelInput<T>&, const Context&) const override { return {}; }
};

TEST(Parts, AModelIsRefusedForATaskThatItCannotRead) {
  add_model<Silent>({"of_tokens", "reads token ids."});
  add_model<Silent>({"of_numbers", "reads numbers."}, {InputKind::vectors, InputKind::image});
  const auto problem = [](const std::string& kind, InputKind input) {
    Config config;
    config.model.kind = kind;
    TaskShape shape;
    shape.input = input;
    Parameters<float> parameters(1);
    return test::message_of<ConfigError>([&] { make_model(config, shape, parameters); });
  };
  EXPECT_EQ(problem("of_tokens", InputKind::tokens), "none");
  EXPECT_EQ(problem("of_tokens", InputKind::image),
            "model.kind: of_tokens reads tokens; the task's examples are images");
  EXPECT_EQ(problem("of_numbers", InputKind::image), "none");
  EXPECT_EQ(problem("of_numbers", InputKind::vectors), "none");
  EXPECT_EQ(problem("of_numbers", InputKind::tokens),
            "model.kind: of_numbers reads vectors, images; the task's examples are tokens");
}

// A run's own config names parts of a program; another program says so, once, and does not blame
// the keys of the part.
TEST(Parts, AConfigOfAnotherProgramsRunNamesWhatIsMissing) {
  const auto problem = [](const std::string& text, const std::vector<std::string>& overrides) {
    return test::message_of<ConfigError>([&] {
      parse_config("[task]\nname = 'reverse'\n[train]\nsteps = 10\n" + text, "run", overrides,
                   ConfigWriter::xgrad);
    });
  };
  const std::string there = " in this program; use the program that added it";
  EXPECT_EQ(problem("[model]\nkind = 'mine'\nslope = 2\nwidth = 8\n", {}),
            "run:6:8: model.kind: there is no \"mine\"" + there);
  EXPECT_EQ(problem("[optim]\nname = 'mine'\nbeta3 = 2\n[schedule]\nname = 'ours'\n", {}),
            "run:6:8: optim.name: there is no \"mine\"" + there +
                "\nrun:9:8: schedule.name: there is no \"ours\"" + there);
  EXPECT_EQ(test::message_of<ConfigError>([] {
              parse_config("[task]\nname = 'mine'\nbits = 3\n[train]\nsteps = 1\n", "run", {},
                           ConfigWriter::xgrad);
            }),
            "run:2:8: task.name: there is no task \"mine\"" + there);
  // What is wrong with known parts, or was given by the user, is said as always.
  EXPECT_EQ(problem("[model]\nkind = 'mlp'\nslop = 2\n", {}).substr(0, 31),
            "run:7:1: model.slop: unknown ke");
  const std::string given = problem("", {"model.kind=mine"});
  EXPECT_NE(given.find("override 'model.kind=mine': model.kind: is \"mine\", must be"), given.npos)
      << given;
}

}  // namespace
}  // namespace xgrad
