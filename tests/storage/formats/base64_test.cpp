#include <gtest/gtest.h>

#include <xgrad/storage/formats/base64.hpp>

namespace xgrad {
namespace {

// The test vectors of RFC 4648, section 10, and all six bits of a digit.
TEST(Base64, AsTheStandardShows) {
  const char* text = "foobar";
  const char* expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size < 7; ++size) {
    EXPECT_EQ(to_base64({text, size}), expected[size]);
  }
  EXPECT_EQ(to_base64(std::string("\xfb\xff\xbf\0", 4)), "+/+/AA==");
}

}  // namespace
}  // namespace xgrad
