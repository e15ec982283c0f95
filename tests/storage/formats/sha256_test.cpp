// SHA-256, compared with the examples of FIPS 180-4 and NIST's example page.
#include <gtest/gtest.h>

#include <xgrad/storage/formats/sha256.hpp>

#include "support/temporary_directory.hpp"

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

// Read in parts: none, one, a whole number of them, and one byte more.
TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const test::TemporaryDirectory directory;
  for (const std::size_t size : {0, 1, 1 << 20, 3 << 20, (3 << 20) + 1}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = char(i * i >> 7);
    const InputFile file(directory.write("file", bytes));
    EXPECT_EQ(to_hex(sha256(file, size)), digest(bytes)) << size;
    EXPECT_EQ(to_hex(sha256(file, size / 2)), digest(bytes.substr(0, size / 2))) << size;
  }
}

}  // namespace
}  // namespace xgrad
