// SHA-256, compared with the examples of FIPS 180-4 and NIST's example page.
#include <gtest/gtest.h>

#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {
namespace {

std::string digest(std::string_view bytes) {
  return to_hex(sha256(bytes));
}

TEST(Sha256, OfNistsExamples) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfBytesThatAreNoText) {
  const std::string bytes("\0\xff", 2);
  EXPECT_EQ(digest(bytes), "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8");
}

}  // namespace
}  // namespace xgrad
