#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tasks/images/fashion_mnist.hpp>

#include <data/tasks/images/idx_files.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

const std::string kSix = idx_bytes({2, 3}, "abcdef");

/// What is said of a file with these bytes, without its path.
std::string error_of(const std::string& bytes, std::size_t rank = 2) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("file.gz", bytes);
  try {
    read_idx(path, rank);
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find(path + ": "), 0) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }
  return "none";
}

TEST(Idx, ReadsGzippedAndPlainFiles) {
  const test::TemporaryDirectory folder;
  for (const std::string& bytes : {gzip(kSix), kSix}) {
    const IdxArray array = read_idx(folder.write("file", bytes), 2);
    EXPECT_EQ(array.extents, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(std::string(array.values.begin(), array.values.end()), "abcdef");
  }
}

TEST(Idx, ReadsMoreThanOneChunk) {
  std::string values(3'000'000, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = char(i * i >> 8);
  const test::TemporaryDirectory folder;
  const IdxArray array = read_idx(folder.write("file", gzip(idx_bytes({3000, 1000}, values))), 2);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), array.values.begin(), array.values.end(),
                         [](char a, std::uint8_t b) { return std::uint8_t(a) == b; }));
}

TEST(Idx, AMissingFileIsNamed) {
  try {
    read_idx("/no/such/file.gz", 1);
    FAIL() << "no exception";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "/no/such/file.gz: cannot be opened: No such file or directory");
  }
}

TEST(Idx, AWrongMagicNumberIsAnError) {
  const std::string expected = "is not an IDX file of bytes with 2 axes";
  EXPECT_EQ(error_of(gzip(kSix), 3), "is not an IDX file of bytes with 3 axes");
  EXPECT_EQ(error_of(gzip("PNG and so on")), expected);
  EXPECT_EQ(error_of(gzip(std::string("\0\0\x0D\2", 4) + kSix.substr(4))), expected) << "floats";
  EXPECT_EQ(error_of(gzip(std::string("\1\0\x08\2", 4) + kSix.substr(4))), expected);
  EXPECT_EQ(error_of(gzip(kSix.substr(0, 3))), expected);
  EXPECT_EQ(error_of(""), expected);
}

TEST(Idx, AWrongCountIsAnError) {
  EXPECT_EQ(error_of(gzip(idx_bytes({2, 3}, "abcde"))), "has 5 values, its header says 6");
  EXPECT_EQ(error_of(gzip(idx_bytes({2, 3}, "abcdefg"))),
            "has more values than its header says, 6");
  EXPECT_EQ(error_of(gzip(idx_bytes({2, 3}, ""))), "has 0 values, its header says 6");
  EXPECT_EQ(error_of(gzip(kSix.substr(0, 9))), "the file is cut off in its header");
}

// Four billion images are not allocated before they are seen to be missing.
TEST(Idx, AHeaderThatLiesCostsNothing) {
  const std::uint32_t most = 0xFFFFFFFF;
  EXPECT_EQ(error_of(gzip(idx_bytes({most, most}, "abcdef"))),
            "has 6 values, its header says 18446744065119617025");
  EXPECT_EQ(error_of(gzip(idx_bytes({most, most, most}, "abcdef")), 3), "the shape is too large");
}

TEST(Idx, EveryTruncationOfTheGzipIsAnError) {
  const std::string whole = gzip(kSix);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_of(whole.substr(0, length)), "none") << length << " of " << whole.size();
  }
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)), "the file is cut off");
}

// Behind gzip's header, most of which says nothing. A few bits only fill the last byte up.
TEST(Idx, NoChangedBitChangesTheData) {
  const std::string whole = gzip(kSix);
  const test::TemporaryDirectory folder;
  int refused = 0;
  for (std::size_t bit = 80; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      const IdxArray array = read_idx(folder.write("file", damaged), 2);
      EXPECT_EQ(std::string(array.values.begin(), array.values.end()), "abcdef") << "bit " << bit;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, int(8 * whole.size()) - 80 - 7);
}

}  // namespace
}  // namespace xgrad
