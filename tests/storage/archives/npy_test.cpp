// npy: what is written is the format, and what is not the format is refused.
#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {
namespace {

using test::message_of;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  const auto size = std::uint32_t(header.size());
  bytes.append(reinterpret_cast<const char*>(&size), version == 1 ? 2 : 4);
  return bytes + header + data;
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

TEST(Npy, AnArrayIsTheFormatToTheByte) {
  const std::string bytes = to_npy(full<float>({3}, 1));
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(bytes.substr(10, text.size()), text);
  EXPECT_EQ((bytes.size() - 12) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 13], '\n');
  EXPECT_NE(to_npy(full<double>({}, 1)).find("'<f8', 'fortran_order': False, 'shape': (), }"),
            std::string::npos);
  EXPECT_NE(to_npy(Ids::from_shape({2, 3})).find("'<i4'"), std::string::npos);
  EXPECT_NE(to_npy(Mask::from_shape({2, 3})).find("'|b1', 'fortran_order': False, 'shape': (2, 3)"),
            std::string::npos);
}

TEST(Npy, ColumnsFirstAndEveryVersion) {
  const float values[] = {1, 4, 2, 5, 3, 6};  // of ((1, 2, 3), (4, 5, 6))
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  for (const char version : {1, 2, 3}) {
    const Array found = read_npy(npy(header("<f4", "(2, 3)", "True"), data, version));
    EXPECT_EQ(found.extents, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(found.values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(found.single);
  }
}

TEST(Npy, TextsInEitherOrder) {
  const char32_t texts[] = U"ab\0\0\u00e9\0\u4e00\U0001f600";
  const std::string data(reinterpret_cast<const char*>(texts), 8 * sizeof(char32_t));
  const Array rows = read_npy(npy(header("<U2", "(2, 2)"), data));
  EXPECT_TRUE(rows.text);
  EXPECT_EQ(rows.texts, (std::vector<std::string>{"ab", "", "\u00e9", "\u4e00\U0001f600"}));
  const Array columns = read_npy(npy(header("<U2", "(2, 2)", "True"), data));
  EXPECT_EQ(columns.texts, (std::vector<std::string>{"ab", "\u00e9", "", "\u4e00\U0001f600"}));
}

TEST(Npy, RowsOfAFileInEitherOrder) {
  const test::TemporaryDirectory folder;
  std::string data;
  for (int i = 0; i < 30; ++i) data += std::string{char(i), char(i % 2)};  // i + 256 (i mod 2)
  const auto value = [](std::size_t i) { return double(i + 256 * (i % 2)); };
  for (const bool fortran : {false, true}) {
    const NpyFile file(
        folder.write("a.npy", npy(header("<i2", "(5, 2, 3)", fortran ? "True" : "False"), data)));
    EXPECT_EQ(file.extents(), (std::vector<std::size_t>{5, 2, 3}));
    EXPECT_FALSE(file.is_text());
    for (const Range rows : {Range{0, 5}, Range{1, 3}, Range{4, 5}}) {
      const Array found = file.rows(rows);
      EXPECT_EQ(found.extents, (std::vector<std::size_t>{rows.size(), 2, 3}));
      ASSERT_EQ(found.values.size(), rows.size() * 6);
      for (std::size_t i = 0; i < found.values.size(); ++i) {
        const std::size_t row = rows.begin + i / 6, j = i / 3 % 2, k = i % 3;
        EXPECT_EQ(found.values[i], value(fortran ? row + 5 * (j + 2 * k) : (row * 2 + j) * 3 + k));
      }
      EXPECT_TRUE(found.whole);
    }
  }
}

TEST(Npy, AFileThatBecameShorterIsAnError) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.npy", npy(header("|u1", "(4, 2)"), "abcdefgh"));
  const NpyFile file(path);
  EXPECT_FALSE(file.file().has_changed());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_TRUE(file.file().has_changed());
  EXPECT_EQ(file.rows({0, 3}).values, (std::vector<double>{97, 98, 99, 100, 101, 102}));
  EXPECT_EQ(message_of<IoError>([&] {
              file.rows({3, 4});
            }),
            path + ": became shorter while it was read");
}

TEST(NpyHostile, C6_ArraysThatAreNone) {
  const std::string data(8, '\0'),
      wrong = "its npy header is not one that NumPy writes",
      read = ", which xgrad does not read; use little-endian numbers, booleans or str";
  std::string axes;
  for (int i = 0; i < 33; ++i) axes += "1, ";
  for (const auto& [array, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is not a npy file"},
           {npy(header("<f4", "(2,)"), data, 4),
            "is a npy file of version 4.0; 1.0 to 3.0 are read"},
           {npy(std::string(65535, ' '), ""), wrong},
           {npy(std::string(65537, ' '), "", 2), "the file is cut off in its header"},
           {npy(header("<f4", "(2,)"), "").substr(0, 20), "the file is cut off in its header"},
           {npy(header(">f4", "(2,)"), data), "has the type '>f4'" + read},
           {npy(header("<f2", "(4,)"), data), "has the type '<f2'" + read},
           {npy(header("|O", "(1,)"), data), "has the type '|O'" + read},
           {npy(header("<f4", "(3,)"), data),
            "has 8 bytes of values; its shape needs 3 values of 4 bytes"},
           {npy(header("<f4", "(1,)"), data),
            "has 8 bytes of values; its shape needs 1 values of 4 bytes"},
           {npy(header("<f4", "(4294967296, 4294967296)"), data), "the shape is too large"},
           {npy(header("<f4", "(99999999999999999999,)"), data), wrong},
           {npy(header("<f4", "(-2,)"), data), wrong},
           {npy(header("<f4", "(" + axes + ")"), data), "has 33 axes, must have at most 32"},
           {npy("__import__('os')\n", data), wrong},
       }) {
    EXPECT_EQ(message_of<FormatError>([&] { read_npy(array); }), why);
  }
}

}  // namespace
}  // namespace xgrad
