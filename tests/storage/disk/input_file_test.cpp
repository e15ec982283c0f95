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

TEST(Lines, AreThoseOfTheFile) {
  const TemporaryDirectory directory;
  const std::string longest(kMostLine, 'x'), block(65535, 'y');
  for (const std::string end : {"\n", ""}) {
    const std::vector<std::string> expected = {"one",   "",    block, std::string("\0\r", 2),
                                               longest, "last"};
    std::string text;
    for (const std::string& line : expected) text += line + "\n";
    text.resize(text.size() - 1 + end.size());
    Lines lines(InputFile(directory.write("file", text)));
    std::string line;
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(lines.next(line)) << i;
      EXPECT_TRUE(line == expected[i]) << i;
      const bool whole = i + 1 < expected.size() || !end.empty();
      position += expected[i].size() + whole;
      EXPECT_EQ(lines.has_end(), whole) << i;
      EXPECT_EQ(lines.position(), position) << i;
      EXPECT_EQ(lines.number(), i + 1);
    }
    EXPECT_FALSE(lines.next(line));
    EXPECT_EQ(lines.position(), text.size());
  }
  std::string line;
  EXPECT_FALSE(Lines(InputFile(directory.write("file", ""))).next(line));
}

TEST(Lines, OfMoreThanAMiBAreRefused) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("file", "one\n" + std::string(kMostLine + 1, 'x'));
  Lines lines{InputFile(file)};
  std::string line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(test::message_of<IoError>([&] { lines.next(line); }),
            file + ": line 2 has more than 1048576 bytes");
}

}  // namespace
}  // namespace xgrad
