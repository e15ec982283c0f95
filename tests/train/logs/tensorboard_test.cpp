// Records and buckets of event files; TensorBoard itself reads them in tests/clients.
#include <gtest/gtest.h>
#include <support/temporary_directory.hpp>

#include <cstring>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/logs/tensorboard.hpp>

namespace xgrad {
namespace {

using test::TemporaryDirectory;

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t c = masked - 0xa282ead8u;
  return (c >> 17) | (c << 15);
}

// RFC 3720, B.4, and the check value of CRC-32C.
TEST(EventFile, TheChecksumIsThePublishedOne) {
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xe3069283u);
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\xff'))), 0x62a8ab43u);
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  EXPECT_EQ(unmasked(masked_crc32c(rising)), 0x46dd794eu);
}

TEST(EventFile, EveryCallAppendsWholeRecords) {
  const TemporaryDirectory directory;
  Config config = parse_config("[task]\nname = 'reverse'\n[train]\nsteps = 1\n", "test", {});
  config.log_tensorboard = true;
  TensorBoard board(config, directory.path(), 0);
  board.row({1, "train", {{"loss", 0.5}}});
  board.go_back(0);
  ASSERT_EQ(directory.names().size(), 1u);
  EXPECT_TRUE(directory.names()[0].starts_with("events.out.tfevents."));
  const std::string bytes = read_file(directory / directory.names()[0]);
  std::size_t at = 0, records = 0;
  for (; at < bytes.size(); ++records) {
    std::uint64_t size = 0;
    std::uint32_t sums[2];
    std::memcpy(&size, bytes.data() + at, 8);
    std::memcpy(sums, bytes.data() + at + 8, 4);
    std::memcpy(sums + 1, bytes.data() + at + 12 + size, 4);
    EXPECT_EQ(sums[0], masked_crc32c(bytes.substr(at, 8)));
    EXPECT_EQ(sums[1], masked_crc32c(bytes.substr(at + 12, size)));
    at += 16 + size;
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(records, 6u) << "four begin the file";
  const TensorBoard second(config, directory.path(), 0);
  EXPECT_EQ(directory.names().size(), 2u);
}

TEST(Histogram, CountsEveryNumberOnce) {
  const std::vector<double> x = {-3, -1e-13, 0, 0, 1e-13, 2, 2, 1e30};
  const Histogram h = histogram(x.data(), x.size());
  EXPECT_EQ(h.min, -3);
  EXPECT_EQ(h.max, 1e30);
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), 0.0), 8);
  EXPECT_EQ(h.limits.size(), h.counts.size());
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const double low = i > 0 ? h.limits[i - 1] : -1e300;
    const auto inside = [&](double v) { return low <= v && v < h.limits[i]; };
    EXPECT_EQ(h.counts[i], double(std::count_if(x.begin(), x.end(), inside))) << i;
  }
  EXPECT_EQ(h.counts.front(), 0);
  EXPECT_GT(h.counts.back(), 0);
}

TEST(Histogram, NothingAndOneNumber) {
  EXPECT_EQ(histogram<float>(nullptr, 0).counts, std::vector<double>());
  const float one = 1;
  const Histogram h = histogram(&one, 1);
  ASSERT_EQ(h.counts, (std::vector<double>{0, 1}));
  EXPECT_LE(h.limits[0], 1);
  EXPECT_GT(h.limits[1], 1);
  EXPECT_NEAR(h.limits[1] / h.limits[0], 1.1, 1e-12);
}

}  // namespace
}  // namespace xgrad
