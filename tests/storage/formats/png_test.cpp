// PNG; tests/clients/tensorboard_test.py has another program read one.
#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/png.hpp>

namespace xgrad {
namespace {

TEST(Png, BeginsAsPngAndIsTheSameAgain) {
  const Picture picture{2, 1, {255, 0, 0, 0, 0, 255}};
  const std::string bytes = to_png(picture);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 4), "IEND");
  EXPECT_EQ(bytes, to_png(picture));
}

TEST(Png, APictureWithoutPixelsIsAnError) {
  EXPECT_THROW(to_png({0, 3, {}}), IoError);
}

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
