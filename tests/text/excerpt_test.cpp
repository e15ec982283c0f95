#include <gtest/gtest.h>

#include <xgrad/data/options.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {
namespace {

TEST(Excerpt, LongTextEndsBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcd", 3), "abc...");
  EXPECT_EQ(clipped("a\u00e9b", 2), "a...");
  EXPECT_EQ(excerpt("a\tb\n"), "\"a b \"");
}

// U+009B begins a command to a terminal, as ESC [ does.
TEST(Excerpt, ReplacesControlCharactersBeyondAscii) {
  EXPECT_EQ(excerpt("a\u009B31m\u0080\u009F\u007F"), "\"a 31m   \"");
  EXPECT_EQ(excerpt("\u00A0\u00DB\xC2"), "\"\u00A0\u00DB\xC2\"");
  EXPECT_EQ(escaped("\u009B1\n"), "\\u009B1\\u000A");
}

TEST(Excerpt, JoinsEmptyWordsToo) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined({"", "a", ""}, "|"), "|a|");
}

}  // namespace
}  // namespace xgrad
