#include <gtest/gtest.h>

#include <xgrad/data/tables/table.hpp>

#include <data/tables/whole_table.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

TEST(Csv, QuotesHoldCommasLinesAndQuotes) {
  const test::TemporaryDirectory folder;
  const Table table = test::read_table(
      folder.write("a.csv", "\xEF\xBB\xBFtext,label\r\n\"a, \"\"b\"\"\nc\",x\r\n\"\",y"),
      {"label", "text"});
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "a, \"b\"\nc");
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "");
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{2, 4}));
}

TEST(Csv, TabsNeedNoQuotes) {
  const test::TemporaryDirectory folder;
  const Table table =
      test::read_table(folder.write("a.tsv", "text\tlabel\n\"a\" b\tx\n"), {"text", "label"});
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "\"a\" b");
}

}  // namespace
}  // namespace xgrad
