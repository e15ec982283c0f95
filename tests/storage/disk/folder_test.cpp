// A folder stays the directory that was opened, and opens nothing but regular files.
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <algorithm>
#include <filesystem>

#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {
namespace {

namespace fs = std::filesystem;

using test::message_of;
using test::TemporaryDirectory;

TEST(Folder, WritesWhereItHasBeenMovedTo) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "run");
  const Folder folder(directory / "run");
  folder.make_folder("inner");
  const Folder inner(folder, "inner");
  EXPECT_EQ(folder.present_path(), directory / "run");
  fs::rename(directory / "run", directory / "moved");
  EXPECT_EQ(folder.present_path(), fs::canonical(directory / "moved"));
  fs::create_directory(directory / "run");
  EXPECT_EQ(folder.present_path(), fs::canonical(directory / "moved"));

  folder.append("log", "one");
  folder.append("log", "two");
  folder.truncate("log", 4);
  publish(inner, "file", "bytes");
  publish_over(inner, "file", "others");
  folder.rename("log", "kept");
  EXPECT_EQ(folder.read("kept", 4), "one\n");
  EXPECT_EQ(read_file(directory / "moved/kept"), "one\n");
  EXPECT_EQ(read_file(directory / "moved/inner/file"), "others");
  folder.remove("kept");
  const std::vector<std::string> names = folder.names();
  EXPECT_EQ(names.size(), 3u) << "., .. and inner";
  EXPECT_NE(std::find(names.begin(), names.end(), "inner"), names.end());
  EXPECT_TRUE(fs::is_empty(directory / "run"));
}

TEST(Folder, OpensNothingButRegularFiles) {
  const TemporaryDirectory directory;
  const Folder folder(directory.path());
  const std::string victim = directory.write("victim", "untouched");
  fs::create_symlink(victim, directory / "link");
  fs::create_symlink("nowhere", directory / "dangling");
  fs::create_symlink(directory.path(), directory / "up");
  fs::create_directory(directory / "directory");
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  for (const auto& [name, is] : {std::pair{"link", "is a symbolic link, not a regular file"},
                                 {"dangling", "is a symbolic link, not a regular file"},
                                 {"up", "is a symbolic link, not a regular file"},
                                 {"directory", "is a directory, not a file"},
                                 {"fifo", "is not a regular file"}}) {
    const std::string said = directory / name + ": " + is;
    EXPECT_EQ(message_of<IoError>([&] { folder.holds(name); }), said);
    EXPECT_EQ(message_of<IoError>([&] { folder.read(name, 9); }), said);
    EXPECT_EQ(message_of<IoError>([&] { folder.append(name, "line"); }), said);
    EXPECT_EQ(message_of<IoError>([&] { folder.truncate(name, 0); }), said);
    EXPECT_EQ(message_of<IoError>([&] { folder.sync(name); }), said);
    EXPECT_EQ(message_of<IoError>([&] { publish_over(folder, name, "bytes"); }), said);
  }
  EXPECT_EQ(read_file(victim), "untouched");
  EXPECT_FALSE(folder.holds("nowhere"));
  EXPECT_EQ(message_of<IoError>([&] { Folder(folder, "up"); }),
            directory / "up" + ": cannot open the directory: Not a directory");
  EXPECT_EQ(message_of<IoError>([&] { folder.make_folder("up"); }),
            directory / "up" + ": is a symbolic link, not a directory");
  EXPECT_EQ(message_of<IoError>([&] { folder.make_folder("victim"); }),
            victim + ": is not a directory");
}

TEST(Folder, SaysWhetherItCouldNotCreateAFileOrNotOpenIt) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "gone");
  const Folder folder(directory / "gone");
  fs::remove(directory / "gone");
  EXPECT_EQ(message_of<IoError>([&] { folder.append("log", "line"); }),
            directory / "gone/log" + ": cannot create: No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { folder.read("log", 9); }),
            directory / "gone/log" + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace xgrad
