#include <gtest/gtest.h>

#include <xgrad/text/columns.hpp>

namespace xgrad {
namespace {

TEST(Columns, AlignCharactersNotBytes) {
  EXPECT_EQ(text_table({}), "");
  EXPECT_EQ(text_table({{"a", "\u00e9"}, {"bcd", "12"}}), "a     \u00e9\nbcd  12\n");
}

TEST(Columns, ToTheLeftBehindAnIndentation) {
  EXPECT_EQ(text_table({{"a", "x", "one"}, {"bcd", "12"}}, {Align::left}, "  "),
            "  a    x   one\n  bcd  12\n");
}

TEST(Columns, EachAsItsAlignmentSays) {
  EXPECT_EQ(text_table({{"a", "b", "c", "d"}, {"12", "12", "12", "12"}},
                       {Align::right, Align::left, Align::right}),
            " a  b    c   d\n12  12  12  12\n");
}

TEST(Columns, CommaSeparatedValuesAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(csv_line({}), "");
  EXPECT_EQ(csv_line({"a", "", "-1.5", "b c"}), "a,,-1.5,b c");
  EXPECT_EQ(csv_line({"1,5", "say \"x\"", "a\nb", "c\rd"}),
            "\"1,5\",\"say \"\"x\"\"\",\"a\nb\",\"c\rd\"");
}

}  // namespace
}  // namespace xgrad
