// Whether a file may be a zip archive, by its directory alone.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/zip.hpp>
#include <xgrad/storage/formats/zip_directory.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using test::message_of;

const std::string kGood = to_zip({{{"a.npy", std::string(100, 'a')}, {"b", "b"}}, "a comment"});
constexpr std::size_t kEnd = 22 + 9;                 // its end record
constexpr std::size_t kDirectory = 46 + 5 + 46 + 1;  // its directory
constexpr std::size_t kMembers = 30 + 5 + 100 + 30 + 1 + 1;

std::string refusal(const std::string& bytes) {
  const test::TemporaryDirectory folder;
  const InputFile file(folder.write("a.npz", bytes));
  const std::string message = message_of<FormatError>([&] { zip_size(file); });
  const std::string origin = "is not a zip archive: ";
  EXPECT_TRUE(message.starts_with(origin)) << message;
  return message.substr(std::min(origin.size(), message.size()));
}

TEST(ZipDirectory, ArchivesHaveTheirSize) {
  EXPECT_EQ(kGood.size(), kMembers + kDirectory + kEnd);
  for (const std::string& bytes :
       {kGood, to_zip({}), to_zip({{{"a", ""}}, std::string(65535, '\5')})}) {
    const test::TemporaryDirectory folder;
    EXPECT_EQ(zip_size(InputFile(folder.write("a.npz", bytes))), bytes.size());
  }
}

TEST(ZipDirectory, EachRecordIsChecked) {
  const auto with = [](std::size_t at, const std::string& bytes) {
    return std::string(kGood).replace(at, bytes.size(), bytes);
  };
  const std::size_t end = kGood.size() - kEnd;
  const std::string damaged = "its directory is damaged";
  EXPECT_EQ(refusal(""), "it does not begin with PK");
  EXPECT_EQ(refusal("PK"), "it has no end of central directory record");
  EXPECT_EQ(refusal(kGood + "x"), "it has no end of central directory record");
  EXPECT_EQ(refusal(with(end + 10, "\3")), damaged);
  EXPECT_EQ(refusal(with(end + 10, "\1")), damaged);
  EXPECT_EQ(refusal(with(kMembers, "x")), damaged);
  EXPECT_EQ(refusal(with(kMembers + 46 + 5 + 28, "\2")), damaged);
  EXPECT_EQ(refusal(with(end + 12, "\1")),
            "its directory of 1 bytes at 167 does not end at its end record");
  EXPECT_EQ(refusal(with(end + 16, std::string(4, '\xff'))),
            "its directory of 98 bytes at 4294967295 does not end at its end record");
  EXPECT_EQ(refusal(with(kMembers + 20, "\xff")),
            "its members take 322 of the 167 bytes before its directory");
}

// A record that says there is nothing stands behind bytes of nobody.
TEST(ZipDirectory, AFalseEndIsSeen) {
  const std::string none = std::string("PK\5\6") + std::string(18, '\0');
  EXPECT_EQ(refusal("PK\3\4" + std::string(1000, '\0') + none),
            "its directory of 0 bytes at 0 does not end at its end record");
  std::string at_its_place = none;
  at_its_place[17] = 4;  // byte 1024
  EXPECT_EQ(refusal("PK\3\4" + std::string(1020, '\0') + at_its_place),
            "its members take 0 of the 1024 bytes before its directory");
}

TEST(ZipDirectory, Zip64) {
  const auto number = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto archive = [&](std::uint64_t place, std::uint64_t directory) {
    const std::string record = "PK\6\6" + number(44) + std::string(12, '\0') + number(2) +
                               number(2) + number(kDirectory) + number(directory);
    const std::string locator =
        "PK\6\7" + std::string(4, '\0') + number(place) + std::string("\1\0\0\0", 4);
    std::string bytes = kGood;
    bytes.replace(kGood.size() - kEnd + 8, 12, 12, '\xff');
    return bytes.insert(kGood.size() - kEnd, record + locator);
  };
  const test::TemporaryDirectory folder;
  const std::string good = archive(kMembers + kDirectory, kMembers);
  EXPECT_EQ(zip_size(InputFile(folder.write("a.npz", good))), good.size());
  EXPECT_EQ(refusal(archive(~0ull, kMembers)), "its zip64 end record is at 18446744073709551615");
  EXPECT_EQ(refusal(archive(3, kMembers)), "it has no zip64 end record at 3");
  EXPECT_EQ(refusal(archive(kMembers + kDirectory, 0)),
            "its directory of 98 bytes at 0 does not end at its end record");
}

}  // namespace
}  // namespace xgrad
