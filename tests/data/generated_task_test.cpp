// A task with a class for each token, as one whose output the model generates.
#include <xgrad/data/task.hpp>

#include <gtest/gtest.h>

#include <xgrad/data/batch.hpp>

namespace xgrad {
namespace {

using Tokens = std::vector<std::int32_t>;

std::unique_ptr<Task> made(const std::string& name, const Options& options = {}) {
  return find_task(name).make(options, 1);
}

// For every generated task with a class for each token.
TEST(GeneratedTask, OutputsAreTheTargetsInOrderAndAnEnd) {
  std::size_t tried = 0;
  for (const TaskEntry& entry : tasks()) {
    if (!entry.debian_packages.empty() || entry.name == "files") continue;
    const auto before = entry.make({}, 1), after = generated_task(entry.make({}, 1));
    const TaskShape old = before->shape(), shape = after->shape();
    const bool converts = old.output == OutputKind::tokens && old.target == TargetKind::classes;
    tried += converts;
    EXPECT_EQ(shape.output, converts ? OutputKind::generated : old.output) << entry.name;
    EXPECT_EQ(shape.classes, old.classes + converts) << entry.name;
    if (converts) {
      EXPECT_EQ(shape.class_names.size(), shape.classes) << entry.name;
    }
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      const auto from = before->dataset(split), to = after->dataset(split);
      ASSERT_EQ(from->size(), to->size());
      for (std::size_t i = 0; i < std::min<std::size_t>(from->size(), 20); ++i) {
        const Example input = from->get(0, i), output = to->get(0, i);
        EXPECT_NO_THROW(check_example(output, shape, i)) << entry.name;
        EXPECT_EQ(to->length(i, shape), length_of(output, shape)) << entry.name;
        if (!converts) {
          EXPECT_EQ(output.targets, input.targets) << entry.name;
          continue;
        }
        Tokens expected;
        for (const std::int32_t target : input.targets) {
          if (target != kIgnore) expected.push_back(target);
        }
        expected.push_back(std::int32_t(old.classes));
        EXPECT_EQ(output.targets, expected) << entry.name;
      }
    }
  }
  EXPECT_GE(tried, 10u);
}

// Two examples, of three targets and of one, and a rule that is right about half of them.
struct Ruled final : Task {
  struct Two final : Dataset {
    std::size_t size() const override { return 2; }
    Example get(std::uint64_t, std::size_t i) const override {
      return i == 0 ? Example{.ids = {0, 1, 0, 1}, .targets = {1, 0, kIgnore, 1}}
                    : Example{.ids = {1}, .targets = {0}};
    }
  };
  TaskShape shape() const override {
    return {.output = OutputKind::tokens, .vocabulary = 2, .max_length = 4, .classes = 2};
  }
  std::unique_ptr<Dataset> dataset(Split) const override { return std::make_unique<Two>(); }
  Example parse(const std::string&) const override { return {}; }
  std::vector<Rule> rules() const override { return {{"half", 0.5, 0.25, 0.9}, {"none", 0, 0}}; }
};

TEST(GeneratedTask, RulesAlsoGetTheEndsRight) {
  const std::vector<Rule> rules = generated_task(std::make_unique<Ruled>())->rules();
  ASSERT_EQ(rules.size(), 2);
  EXPECT_EQ(rules[0].name, "half");
  EXPECT_NEAR(rules[0].accuracy, 4.0 / 6, 1e-15) << "two labels and two ends of six";
  EXPECT_EQ(rules[0].exact, 0.25);
  EXPECT_NEAR(*rules[0].loss, 0.6, 1e-15);
  EXPECT_NEAR(rules[1].accuracy, 2.0 / 6, 1e-15);
  EXPECT_FALSE(rules[1].loss);
}

TEST(GeneratedTask, ReadsOnceWhereTheTaskCan) {
  struct Shared final : Task {
    TaskShape shape() const override { return {}; }
    std::unique_ptr<Dataset> dataset(Split) const override { return nullptr; }
    Example parse(const std::string&) const override { return {}; }
    bool read_once(const Readers& readers) override { return readers.self == 1; }
    std::string token_text(std::int32_t id) const override { return std::to_string(id) + "!"; }
  };
  const auto task = generated_task(std::make_unique<Shared>());
  EXPECT_FALSE(task->read_once({0, {}}));
  EXPECT_TRUE(task->read_once({1, {}}));
  EXPECT_EQ(task->token_text(5), "5!");
}

// Else the input would tell how long the output is.
TEST(GeneratedTask, PlacesForTheOutputAreLeftOut) {
  const auto addition = generated_task(made("addition"));
  EXPECT_EQ(addition->parse("4 7 + 3 5 = _ _ _").ids, (Tokens{4, 7, 10, 3, 5, 11}));
  EXPECT_EQ(addition->parse("4 7 + 3 5 =").ids, (Tokens{4, 7, 10, 3, 5, 11}));
  EXPECT_EQ(addition->parse("4 7 + 3 5 =").targets, (Tokens{0, 8, 2, 10}));
  EXPECT_EQ(addition->dataset(Split::train)->get(0, 3).ids.size(), 6u);
  const auto copy = generated_task(made("selective_copy", {{"length", 5}, {"marked", 2}}));
  const Example example = copy->parse("- 3 - 1 -");
  EXPECT_EQ(example.ids, (Tokens{8, 3, 8, 1, 8}));
  EXPECT_EQ(example.targets, (Tokens{3, 1, 8}));
}

// An encoder fills the places, so a line without them gets them.
TEST(GeneratedTask, OtherTasksAddThePlacesThatALineLacks) {
  EXPECT_EQ(made("addition")->parse("4 7 + 3 5 =").ids,
            made("addition")->parse("4 7 + 3 5 = _ _ _").ids);
  const Options options = {{"length", 5}, {"marked", 2}};
  EXPECT_EQ(made("selective_copy", options)->parse("- 3 - 1 -").ids,
            made("selective_copy", options)->parse("- 3 - 1 - _ _").ids);
}

}  // namespace
}  // namespace xgrad
