#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/run/directory.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

#include "support/gradients.hpp"
#include "support/temporary_directory.hpp"

namespace xgrad {
namespace {

namespace fs = std::filesystem;

std::string row(std::uint64_t step, const std::string& split) {
  return to_json(metrics_row(step, split, {}));
}

TEST(RunDirectory, CutsALogBackToAStep) {
  const test::TemporaryDirectory folder;
  const RunDirectory run = RunDirectory::create(folder.path() + "/run", "x");
  run.folder().append("metrics.jsonl", row(10, "train"));
  run.folder().append("metrics.jsonl", row(20, "train"));
  run.folder().append("metrics.jsonl", row(20, "validation"));
  const std::string kept = read_file(run.path() + "/metrics.jsonl");
  run.folder().append("metrics.jsonl", row(20, "test"));
  run.folder().append("metrics.jsonl", row(30, "train"));
  run.folder().append("metrics.jsonl",
                      "{\"step\":4");  // a line that was being written when the run died
  run.cut_back("metrics.jsonl", 20);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"), kept);
  run.cut_back("metrics.jsonl", 20, /*validated=*/false);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"),
            row(10, "train") + "\n" + row(20, "train") + "\n");
  run.cut_back("metrics.jsonl", 0);
  EXPECT_EQ(read_file(run.path() + "/metrics.jsonl"), "");
  run.cut_back("absent.jsonl", 0);
  EXPECT_FALSE(fs::exists(run.path() + "/metrics.jsonl.bad"));
}

TEST(RunDirectory, MovesLinesThatAreNoRows) {
  const test::TemporaryDirectory folder;
  const RunDirectory run = RunDirectory::create(folder.path() + "/run", "x");
  const auto metrics = [&] { return read_file(run.path() + "/metrics.jsonl"); };
  for (const std::string& line :
       {row(10, "train"), std::string("mine"), row(20, "train"), std::string(), row(30, "train")}) {
    run.folder().append("metrics.jsonl", line);
  }
  const std::string path = run.path() + "/metrics.jsonl";
  EXPECT_EQ(run.cut_back("metrics.jsonl", 20),
            path + ": not rows of this run, moved to " + path + ".bad: lines 2, 4");
  EXPECT_EQ(metrics(), row(10, "train") + "\n" + row(20, "train") + "\n");
  EXPECT_EQ(read_file(path + ".bad"), "mine\n\n");
  EXPECT_EQ(run.cut_back("metrics.jsonl", 20), "");

  folder.write("run/metrics.jsonl", "first\n" + row(10, "train"));
  EXPECT_EQ(run.cut_back("metrics.jsonl", 10),
            path + ": not rows of this run, moved to " + path + ".bad: line 1");
  EXPECT_EQ(metrics(), row(10, "train") + "\n");
  EXPECT_EQ(read_file(path + ".bad"), "mine\n\nfirst\n");

  folder.write("run/metrics.jsonl", row(10, "train"));
  EXPECT_EQ(run.cut_back("metrics.jsonl", 10), "");
  EXPECT_EQ(metrics(), row(10, "train") + "\n") << "an editor removed the last newline";
}

// The winner of several that go on after a kill writes its name a moment after it has the lock.
TEST(RunDirectory, ALockIsNotOfAProcessThatWasKilled) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/run", lock = path + "/run.lock";
  std::string winner;
  {
    const RunDirectory run = RunDirectory::create(path, "x");
    publish(path, "config.toml", "");
    winner = read_file(lock);
  }
  const int none = 0x7fffffff;  // above the largest number of a process
  folder.write("run/run.lock",
               "process " + std::to_string(none) + winner.substr(winner.rfind(" on ")));
  const detail::Descriptor held = Folder(path).open("run.lock", O_RDWR);
  ASSERT_TRUE(held.lock(lock));
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(::ftruncate(held, 0), 0);
    detail::write_all(held, winner, lock);
  });
  EXPECT_TRUE(
      test::throws_with<LockError>([&] { RunDirectory::open(path); }, "in use by " + winner));
  slow.join();
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
