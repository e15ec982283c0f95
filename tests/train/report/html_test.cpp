#include <xgrad/train/report/report.hpp>

#include <gtest/gtest.h>

namespace xgrad {
namespace {

// A character of XML 1.0 is a tab, a line end, or from U+0020 on, but no surrogate, U+FFFE or
// U+FFFF.
TEST(Html, EscapesWhatXmlForbids) {
  EXPECT_EQ(html::escape("a\uFFFEb\uFFFFc\uFFFD\uFFFC\U00010000"),
            "a\uFFFDb\uFFFDc\uFFFD\uFFFC\U00010000");
  EXPECT_EQ(html::escape("\x01\x1F\x7F\u009B\n\t"), "\uFFFD\uFFFD\uFFFD\uFFFD\n\t");
  EXPECT_EQ(html::escape("\xED\xA0\x80<&\"'>"), "\uFFFD\uFFFD\uFFFD&lt;&amp;&quot;&#39;&gt;");
}

}  // namespace
}  // namespace xgrad
