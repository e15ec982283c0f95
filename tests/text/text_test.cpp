#include <gtest/gtest.h>

#include <xgrad/text/text.hpp>

namespace xgrad {
namespace {

using Parts = std::vector<std::string_view>;

// RFC 3629, the table of section 4 and its edges.
TEST(Text, Utf8) {
  for (const char* good : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(invalid_utf8(good), std::string::npos) << good;
    EXPECT_EQ(characters(good).size(), std::string(good).empty() ? 0 : 1);
  }
  for (const char* bad :
       {"\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2\xC2", "\xE2\x82"}) {
    EXPECT_EQ(invalid_utf8(std::string("ab") + bad), 2) << bad;
  }
}

TEST(Text, PlainWords) {
  const std::string plain = plain_text("Don't go, É2 -- IN 5.7s!");
  EXPECT_EQ(words(plain), (Parts{"dont", "go", "É2", "in", "5", "7s"}));
  EXPECT_EQ(words(plain_text(" .;")), Parts());
}

TEST(Text, Numbers) {
  EXPECT_EQ(to_number("-1.5e3"), -1500);
  for (const char* bad : {"", " 1", "1 ", "nan", "inf", "1e999", "0x10", "1,5", "+1"}) {
    EXPECT_FALSE(to_number(bad)) << bad;
  }
}

// The hash splits rows, so it must never change.
TEST(Text, TheHashIsFixed) {
  EXPECT_NE(stable_hash("a"), stable_hash(std::string("a\0", 2)));
  EXPECT_NE(stable_hash("a"), stable_hash("a", 1));
  EXPECT_EQ(stable_hash("the quick brown fox jumps"), 7058993980684628525u);
}

}  // namespace
}  // namespace xgrad
