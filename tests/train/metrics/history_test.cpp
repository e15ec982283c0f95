#include <xgrad/train/metrics/history.hpp>

#include <gtest/gtest.h>

#include <filesystem>

#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary_folder.hpp>

namespace xgrad {
namespace {

TEST(RunHistory, NamesOfRunsInSeveralFoldersDiffer) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name) {
    std::filesystem::create_directories(folder / name);
    const std::string config = "[task]\nname = \"reverse\"\n[train]\nsteps = 1\n";
    publish_over(folder / name, "config.toml", config);
    return folder / name;
  };
  const auto names = [](const std::vector<std::string>& directories) {
    std::vector<std::string> all;
    for (const RunHistory& record : read_runs(directories)) all.push_back(record.name);
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({run("x/a")}), Names{"a"});
  EXPECT_EQ(names({run("x/a"), run("y/a/"), run("y/b")}), (Names{"x/a", "y/a", "b"}));
  EXPECT_EQ(names({run("1/x/a"), run("2/x/a"), run("2/y/a")}), (Names{"1/x/a", "2/x/a", "y/a"}));
  EXPECT_EQ(names({run("x/a"), run("x/a/x/a")}).at(1), "a/x/a");
  EXPECT_EQ(names({run("x/a"), run("x/./a")}), (Names{"a", "a"}));  // the same twice
}

}  // namespace
}  // namespace xgrad
