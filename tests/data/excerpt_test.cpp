#include <gtest/gtest.h>

#include <xgrad/data/excerpt.hpp>

namespace xgrad {
namespace {

TEST(Excerpt, LongTextEndsBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcd", 3), "abc...");
  EXPECT_EQ(clipped("a\u00e9b", 2), "a...");
  EXPECT_EQ(excerpt("a\tb\n"), "\"a b \"");
}

TEST(Excerpt, JoinsEmptyWordsToo) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined({"", "a", ""}, "|"), "|a|");
}

}  // namespace
}  // namespace xgrad
