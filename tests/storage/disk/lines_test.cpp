// Lines of a file come whole, wherever the blocks in which it is read end.
#include <xgrad/storage/disk/lines.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <xgrad/autograd/check.hpp>

namespace xgrad {
namespace {

using test::TemporaryDirectory;

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
