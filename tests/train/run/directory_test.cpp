#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/run/directory.hpp>

#include <gtest/gtest.h>

#include <filesystem>

#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/metrics/rows.hpp>

#include "support/gradients.hpp"
#include "support/temporary_directory.hpp"

namespace xgrad {
namespace {

namespace fs = std::filesystem;

std::string row(std::uint64_t step, const std::string& split) {
  return to_json(metrics_row(step, split, {}));
}

TEST(RunDirectory, ReadsBackTheStepOfARow) {
  EXPECT_EQ(row_step(row(12, "train")), 12u);
  EXPECT_EQ(row_step(to_json(timing_row(7, 0.5, 100))), 7u);
  const auto none = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(row_step(row(12, "test")), none);
  EXPECT_EQ(row_split(row(12, "test")), "test");
  EXPECT_EQ(row_split(to_json(timing_row(7, 0.5, 100))) + row_split("[1]") + row_split("{"), "");
  for (const char* line : {"", "{", "[1]", "{\"step\":-1}", "{\"step\":\"1\"}", "{\"step\":1"}) {
    EXPECT_EQ(row_step(line), none) << line;
  }
}

TEST(RunDirectory, CutsALogBackToAStep) {
  const test::TemporaryDirectory folder;
  const RunDirectory run = RunDirectory::create(folder.path() + "/run", "x");
  run.append("metrics.jsonl", row(10, "train"));
  run.append("metrics.jsonl", row(20, "train"));
  run.append("metrics.jsonl", row(20, "validation"));
  const std::string kept = read_file(run.path() + "/metrics.jsonl");
  run.append("metrics.jsonl", row(20, "test"));
  run.append("metrics.jsonl", row(30, "train"));
  run.append("metrics.jsonl", "{\"step\":4");  // a line that was being written when the run died
  run.cut_back("metrics.jsonl", 20);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"), kept);
  run.cut_back("metrics.jsonl", 20, /*validated=*/false);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"),
            row(10, "train") + "\n" + row(20, "train") + "\n");
  run.cut_back("metrics.jsonl", 0);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"), "");
  run.cut_back("absent.jsonl", 0);
}

TEST(RunDirectory, IsLockedWhileItLives) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/run";
  {
    const RunDirectory run = RunDirectory::create(path, "x");
    publish(path, "config.toml", "");
    EXPECT_TRUE(
        test::throws_with<LockError>([&] { RunDirectory::open(path); }, "is in use by process"));
    EXPECT_TRUE(test::throws_with<LockError>([&] { RunDirectory::create(path, "x"); },
                                             "is in use by process"));
  }
  EXPECT_NO_THROW(RunDirectory::open(path));
  EXPECT_TRUE(
      test::throws_with<IoError>([&] { RunDirectory::create(path, "x"); }, "already holds a run"));
}

TEST(RunDirectory, ParentsAreMadeAsThePathNamesThem) {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder / "deep/inner");
  fs::create_symlink("deep/inner", folder / "link");
  make_directory(folder / "link/../p/q/");
  EXPECT_TRUE(fs::is_directory(folder / "deep/p/q"));
  EXPECT_FALSE(fs::exists(folder / "p"));
  make_directory(folder / "none/../n");
  EXPECT_TRUE(fs::is_directory(folder / "n"));
}

TEST(RunDirectory, AnEmptyLockIsNobodys) {
  const test::TemporaryDirectory folder;
  folder.write("run.lock", "");
  EXPECT_NO_THROW(RunDirectory::create(folder.path(), "x"));
}

TEST(RunDirectory, OpensOnlyRuns) {
  const test::TemporaryDirectory folder;
  EXPECT_TRUE(test::throws_with<IoError>([&] { RunDirectory::open(folder.path()); },
                                         "is not a run directory"));
  EXPECT_FALSE(fs::exists(folder.path() + "/run.lock"));
}

}  // namespace
}  // namespace xgrad
