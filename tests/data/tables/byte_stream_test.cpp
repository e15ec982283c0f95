// Text that is read in parts: where one part ends and the next begins changes nothing.
#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/watch_progress.hpp>

#include <data/tables/whole_table.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Text = std::string;

/// Texts of what a reader looks at, now and then a long one.
class Draw {
 public:
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound, index_++); }
  Text text(const std::vector<Text>& parts) {
    Text text;
    const std::uint64_t count = below(50) == 0 ? below(20'000) : below(12);
    for (std::uint64_t i = 0; i < count; ++i) text += parts[below(parts.size())];
    return text;
  }

 private:
  Rng rng_ = Rng(17) / "stream";
  std::uint64_t index_ = 0;
};

Text quoted(const Text& text) {
  Text result = "\"";
  for (const char c : text) result += c == '"' ? Text("\"\"") : Text(1, c);
  return result + '"';
}

struct Written {
  std::vector<std::vector<Text>> rows;
  std::vector<std::size_t> lines;
  Text bytes;
};

/// Some MiB of rows of two fields.
Written write_rows(const std::vector<Text>& parts, char separator, bool quotes) {
  Draw draw;
  Written written{{}, {}, Text("a") + separator + "b\r\n"};
  std::size_t line = 2;
  while (written.bytes.size() < (5 << 20)) {
    written.lines.push_back(line++);
    std::vector<Text>& row = written.rows.emplace_back();
    for (int i = 0; i < 2; ++i) {
      const Text& field = row.emplace_back(draw.text(parts));
      const bool must = field.find_first_of("\",\n\r") != Text::npos;
      line += std::size_t(std::count(field.begin(), field.end(), '\n'));
      written.bytes += must || (quotes && draw.below(2) == 0) ? quoted(field) : field;
      written.bytes += i == 0 ? Text(1, separator) : draw.below(2) == 0 ? "\n" : "\r\n";
    }
  }
  return written;
}

void expect_rows(const Written& written, const Text& name) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write(name, written.bytes);
  const Rows rows = open_table(path, "auto", {"b", "a"});
  for (int pass = 0; pass < 2; ++pass) {
    const Table table = test::whole_table(rows);
    EXPECT_EQ(table.fingerprint, stable_hash(written.bytes));
    EXPECT_EQ(table.lines, written.lines);
    ASSERT_EQ(table.rows.size(), written.rows.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      ASSERT_EQ(std::get<Text>(table.rows[i][1]), written.rows[i][0]) << i;
      ASSERT_EQ(std::get<Text>(table.rows[i][0]), written.rows[i][1]) << i;
    }
  }
}

TEST(Stream, CsvOfAnyLength) {
  expect_rows(
      write_rows({"a", "bcd", " ", "\"", ",", "\n", "\r\n", "\r", "ä", "漢", "😀"}, ',', true),
      "a.csv");
}

TEST(Stream, TsvOfAnyLength) {
  expect_rows(write_rows({"a", "bcd", " ", "ä", "漢", "😀"}, '\t', false), "a.tsv");
}

TEST(Stream, JsonLinesOfAnyLength) {
  Written written = write_rows({"a", "bcd", " ", "ä", "漢", "😀"}, '\t', false);
  written.bytes.clear();
  for (std::size_t i = 0; i < written.rows.size(); ++i) {
    written.lines[i] = i + 1;
    written.bytes += "{\"a\": \"" + written.rows[i][0] + "\", \"b\": \"" + written.rows[i][1] +
                     (i % 3 == 0 ? "\"}\r\n" : "\"}\n");
  }
  expect_rows(written, "a.jsonl");
}

// Behind the first block, where rows and lines must count on.
TEST(Stream, ARowFarBehindIsNamed) {
  const test::TemporaryDirectory folder;
  Text bytes = "a\tb\n";
  for (int i = 0; i < 300'000; ++i) bytes += "some text\tx\n";
  const std::string path = folder.write("a.tsv", bytes + "one field\n");
  try {
    test::read_table(path, {"a"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              path + ": row 300001 (line 300002): has 1 of the header's 2 fields");
  }
}

TEST(Stream, WhoWatchesIsToldOfEveryMebibyte) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.tsv", "a\n" + Text((5 << 19) - 3, 'x') + "\n");
  std::vector<std::uint64_t> told;
  {
    const WatchProgress watch([&](const std::string& file, std::uint64_t read, std::uint64_t size) {
      EXPECT_EQ(file, path);
      EXPECT_EQ(size, 5u << 19);
      told.push_back(read);
    });
    ByteStream bytes(path);
    while (!bytes.at_end()) bytes.skip(bytes.ahead().size());
    EXPECT_EQ(bytes.fingerprint(), stable_hash("a\n" + Text((5 << 19) - 3, 'x') + "\n"));
  }
  ByteStream(path).at_end();
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1 << 20, 2 << 20, 5 << 19}));
}

TEST(Stream, AFileThatBecomesShorterIsRefused) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.tsv", Text(3 << 20, 'x'));
  ByteStream bytes(path);
  bytes.skip(bytes.ahead().size());
  std::filesystem::resize_file(path, 2 << 20);
  bytes.skip(bytes.ahead().size());
  EXPECT_THROW(bytes.ahead(), DataError);
}

}  // namespace
}  // namespace xgrad
