// packages.txt, which ./run reads before anything is built, and the table of tasks say the same.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

TEST(Packages, AreThoseOfTheTasks) {
  std::ifstream file(XGRAD_SOURCE_DIR "/packages.txt");
  ASSERT_TRUE(file);
  std::map<std::string, std::vector<std::string>> listed;
  std::string task;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) {
      task = line.starts_with("[task ") ? line.substr(6, line.size() - 7) : "";
    } else if (!task.empty()) {
      listed[task].push_back(line);
    }
  }

  std::map<std::string, std::vector<std::string>> needed;
  for (const TaskEntry& entry : tasks()) {
    if (!entry.debian_packages.empty()) needed[entry.name] = entry.debian_packages;
  }
  EXPECT_FALSE(needed.empty());
  EXPECT_EQ(listed, needed);
}

}  // namespace
}  // namespace xgrad
