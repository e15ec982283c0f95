// The table of tasks, and what holds for every row of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/data/task.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

TEST(Tasks, AreInAlphabeticalOrderAndDescribed) {
  ASSERT_FALSE(tasks().empty());
  for (std::size_t i = 0; i < tasks().size(); ++i) {
    if (i > 0) {
      EXPECT_LT(tasks()[i - 1].name, tasks()[i].name);
    }
    EXPECT_FALSE(tasks()[i].summary.empty()) << tasks()[i].name;
    EXPECT_TRUE(tasks()[i].needs.ends_with(".")) << tasks()[i].name;
    for (const OptionSpec& spec : tasks()[i].options) {
      EXPECT_FALSE(spec.help.empty()) << tasks()[i].name << "." << spec.name;
      EXPECT_EQ(problem(spec, spec.fallback), "") << tasks()[i].name << "." << spec.name;
    }
  }
}

// What a task of your own files needs is not known.
TEST(Tasks, SayWhichPositionsAndWhatDepthTheyNeed) {
  for (const TaskEntry& entry : tasks()) {
    if (entry.name == "files") continue;
    EXPECT_NE(entry.needs.find("osition"), std::string::npos) << entry.name << ": " << entry.needs;
    EXPECT_NE(entry.needs.find("layer"), std::string::npos) << entry.name << ": " << entry.needs;
  }
}

// What theory says starts with one of a few labels, which docs/commands.md lists.
TEST(Tasks, SayWhatTheoryKnowsAndWhereTheyAreFrom) {
  const std::set<std::string> labels = {"solvable",      "needs positions",
                                        "needs depth",   "needs positions and depth",
                                        "not learnable", "open"};
  for (const TaskEntry& entry : tasks()) {
    if (entry.name == "one_digit") continue;
    const std::string label = entry.theory.substr(0, entry.theory.find(": "));
    EXPECT_LT(label.size() + 2, entry.theory.size()) << entry.name;
    EXPECT_EQ(labels.count(label), 1u) << entry.name;
    EXPECT_NE(entry.source, "") << entry.name;
    const bool needs_data = !entry.debian_packages.empty() || entry.name == "files";
    EXPECT_EQ(entry.best.starts_with("unknown, because "), needs_data) << entry.name;
    EXPECT_TRUE(needs_data || entry.best == kCertain || entry.best == kComputed) << entry.name;
  }
}

TEST(Tasks, AreFoundByName) {
  for (const TaskEntry& entry : tasks()) EXPECT_EQ(&find_task(entry.name), &entry);
}

TEST(Tasks, AnUnknownNameListsTheNearestFirst) {
  try {
    find_task("revrese");
    FAIL() << "no exception";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("there is no task \"revrese\"; there are reverse, "),
              0)
        << error.what();
    for (const TaskEntry& entry : tasks()) {
      EXPECT_NE(std::string(error.what()).find(entry.name), std::string::npos) << error.what();
    }
  }
}

// ./run installs what packages.txt lists for the task of a config.
TEST(Tasks, PackagesAreThoseThatTheLauncherInstalls) {
  std::map<std::string, std::vector<std::string>> listed;
  std::ifstream file(test::source_path("packages.txt"));
  ASSERT_TRUE(file);
  std::string line, task;
  while (std::getline(file, line)) {
    if (line.starts_with("[")) {
      task = line.starts_with("[task ") ? line.substr(6, line.find(']') - 6) : "";
      if (!task.empty()) listed[task];
    } else if (!task.empty() && !line.empty() && line[0] != '#') {
      listed[task].push_back(line);
    }
  }
  for (const TaskEntry& entry : tasks()) {
    EXPECT_EQ(entry.debian_packages, listed[entry.name]) << entry.name;
  }
  for (const auto& [name, packages] : listed) EXPECT_NO_THROW(find_task(name));
}

class OneDigit final : public Task {
 public:
  TaskShape shape() const override { return {}; }
  std::unique_ptr<Dataset> dataset(Split) const override { return nullptr; }
  Example parse(const std::string&) const override { return {}; }
};

// What bucketing sorts by, for every task whose data are at hand without a file.
TEST(Tasks, KnowTheLengthsOfTheirExamples) {
  std::size_t tried = 0;
  for (const TaskEntry& entry : tasks()) {
    if (!entry.debian_packages.empty() || entry.name == "files") continue;
    ++tried;
    const auto task = entry.make({}, /*seed=*/3);
    const TaskShape shape = task->shape();
    for (const Split split : {Split::train, Split::test}) {
      const auto data = task->dataset(split);
      for (std::size_t i = 0; i < std::min<std::size_t>(20, data->size()); ++i) {
        EXPECT_EQ(data->length(i, shape), length_of(data->get(1, i), shape)) << entry.name;
      }
    }
  }
  EXPECT_GT(tried, 20u);
}

TEST(Tasks, AHostProgramAddsItsOwn) {
  const auto make = [](const Options& options, std::uint64_t) {
    EXPECT_EQ(options, (Options{{"level", 2}}));
    return std::make_unique<OneDigit>();
  };
  const std::size_t before = tasks().size();
  add_task({"one_digit", "Of a test.", {{"level", 2, "Of it.", 1, 3}}, {}, make});
  EXPECT_EQ(tasks().size(), before + 1);
  EXPECT_EQ(find_task("one_digit").summary, "Of a test.");
  EXPECT_NE(find_task("one_digit").make({}, 1), nullptr);
  EXPECT_THROW(find_task("one_digit").make({{"level", 4}}, 1), ConfigError);
  EXPECT_THROW(find_task("one_digit").make({{"levle", 2}}, 1), ConfigError);
  EXPECT_TRUE(std::is_sorted(tasks().begin(), tasks().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  EXPECT_THROW(add_task({"one_digit", "Again.", {}, {}, make}), ConfigError);
  EXPECT_THROW(add_task({"copy", "Another.", {}, {}, make}), ConfigError);
}

TEST(Splits, HaveNames) {
  EXPECT_STREQ(to_string(Split::train), "train");
  EXPECT_STREQ(to_string(Split::validation), "validation");
  EXPECT_STREQ(to_string(Split::test), "test");
}

TEST(Tasks, ClassesWithNames) {
  const auto names = [](const char* task) {
    return find_task(task).make({}, 1)->shape().class_names;
  };
  EXPECT_EQ(names("dyck"), (std::vector<std::string>{"open", "closed", "wrong"}));
  const std::vector<std::string> counts = names("double_histogram");
  ASSERT_GT(counts.size(), 2u);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    EXPECT_EQ(std::stoi(counts[i]), std::stoi(counts[i - 1]) + 1);
  }
}

}  // namespace
}  // namespace xgrad
