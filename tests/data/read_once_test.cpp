// Processes of a machine that read files once: here they are threads.

#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/readers.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>
#include <mutex>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

using test::on_readers;

TEST(ReadOnce, OneOfThoseWithTheSameFilesReads) {
  const test::TemporaryDirectory folder;
  folder.write("a", "");
  folder.write("b", "");
  std::filesystem::create_symlink("a", folder / "also a");
  const char* names[] = {"a", "b", "also a", "b", "a"};
  std::mutex mutex;
  std::vector<std::string> done(5);
  on_readers(5, [&](const Readers& readers) {
    const std::string self = std::to_string(readers.self);
    const auto note = [&](const std::string& what) {
      const std::lock_guard lock(mutex);
      done[readers.self] += what;
    };
    const bool uses = read_once(
        readers, {folder / names[readers.self]},
        [&] {
          note("reads");
          return "of " + self;
        },
        [&](const std::string& text) { note("uses that " + text); });
    EXPECT_EQ(uses, readers.self > 1);
  });
  EXPECT_EQ(done, (std::vector<std::string>{"reads", "reads", "uses that of 0", "uses that of 1",
                                            "uses that of 0"}));
}

TEST(ReadOnce, WhoCannotShareReadsAlone) {
  const test::TemporaryDirectory folder;
  folder.write("a", "");
  const auto nothing = []() -> std::string { throw Error("must not read"); };
  const auto use = [](const std::string&) { throw IoError("not allowed"); };
  on_readers(3, [&](const Readers& readers) {
    EXPECT_FALSE(read_once(readers, {folder / "missing"}, nothing, use));
    EXPECT_FALSE(read_once(readers, {}, nothing, use));
    const std::string own = folder / std::to_string(readers.self);
    folder.write(std::to_string(readers.self), "");
    EXPECT_FALSE(read_once(readers, {own}, nothing, use));
    EXPECT_FALSE(read_once(
        readers, {folder / "a"}, [] { return "text"; }, use));
  });
}

TEST(ReadOnce, AnErrorIsThrownByAll) {
  const test::TemporaryDirectory folder;
  folder.write("a", "");
  on_readers(3, [&](const Readers& readers) {
    const std::string message = test::message_of<DataError>([&] {
      read_once(
          readers, {folder / "a"}, []() -> std::string { throw DataError("a: is wrong"); },
          [](const std::string&) {});
    });
    EXPECT_EQ(message, "a: is wrong");
  });
}

void expect_equal(const Example& a, const Example& b) {
  ASSERT_EQ(a.ids, b.ids);
  ASSERT_EQ(a.targets, b.targets);
  ASSERT_EQ(a.values, b.values);
}

TEST(ReadOnce, TablesGiveTheSameExamples) {
  const test::TemporaryDirectory folder;
  const auto table = [](int begin, int end) {
    std::string rows = "text,label\n";
    for (int i = begin; i < end; ++i) {
      rows += "word" + std::to_string(i % 90) + " x" + std::to_string(i) + "," +
              (i % 3 > 0 ? "yes" : "no") + "\n";
    }
    return rows;
  };
  const Options options = {{"train", folder.write("a.csv", table(0, 1000))},
                           {"test", folder.write("b.csv", table(900, 1100))},
                           {"vocabulary", 50}};
  const auto alone = find_task("files").make(options, 1);
  alone->dataset(Split::test);
  const std::string learned = alone->vocabulary_and_scales();
  on_readers(3, [&](const Readers& readers) {
    const auto task = find_task("files").make(options, 1);
    EXPECT_EQ(task->read_once(readers), readers.self > 0);
    readers.tell("");
    // Who uses a copy needs no file from now on.
    if (readers.self == 0) std::filesystem::remove(folder / "a.csv");
    readers.tell("");
    EXPECT_EQ(task->vocabulary_and_scales(), learned);
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      const auto expected = alone->dataset(split), found = task->dataset(split);
      ASSERT_EQ(found->size(), expected->size());
      for (std::size_t i = 0; i < found->size(); ++i) {
        expect_equal(found->get(0, i), expected->get(0, i));
      }
    }
  });
}

}  // namespace
}  // namespace xgrad
