#include <gtest/gtest.h>
#include <sys/stat.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {
namespace {

using test::message_of;
using test::TemporaryDirectory;

TEST(InputFile, ReadsPartsAndAll) {
  const TemporaryDirectory directory;
  const InputFile file(directory.write("a", std::string("a\0bcd", 5)));
  EXPECT_EQ(file.path(), directory / "a");
  EXPECT_EQ(file.size(), 5);
  EXPECT_EQ(file.read(2, 2), "bc");
  EXPECT_EQ(file.read(5, 0), "");
  EXPECT_EQ(read_whole(file, 5), std::string("a\0bcd", 5));
  EXPECT_EQ(message_of<IoError>([&] { read_whole(file, 4); }),
            directory / "a" + ": has 5 bytes, must have at most 4");
}

TEST(InputFile, RefusesWhatIsNoRegularFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(message_of<IoError>([&] { InputFile(directory / "none"); }),
            directory / "none" + ": cannot open: No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { InputFile(directory.path()); }),
            directory.path() + ": is a directory, not a file");
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(message_of<IoError>([&] { InputFile(directory / "fifo"); }),
            directory / "fifo" + ": is not a regular file");
}

TEST(InputFile, NoticesThatTheFileBecameShorter) {
  const TemporaryDirectory directory;
  const InputFile file(directory.write("a", "abcdef"));
  std::filesystem::resize_file(directory / "a", 3);
  EXPECT_EQ(file.read(0, 3), "abc");
  EXPECT_EQ(message_of<IoError>([&] { file.read(0, 6); }),
            directory / "a" + ": became shorter while it was read");
}

TEST(InputFile, SaysHowMuchDoesNotFitIntoMemory) {
  const TemporaryDirectory directory;
  const InputFile file(directory.write("a", ""));
  const std::size_t much = std::size_t(1) << 63;  // more than a string can have
  EXPECT_EQ(message_of<IoError>([&] { file.read(0, much); }),
            directory / "a" + ": does not fit into memory: 9223372036854775808 bytes");
}

}  // namespace
}  // namespace xgrad
