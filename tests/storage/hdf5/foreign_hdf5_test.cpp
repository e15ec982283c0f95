// HDF5 files as other programs write them, written here through libhdf5 itself.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <functional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>

#include <data/tables/whole_table.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

/// A file that `fill` fills; what is opened there is closed at the end.
struct File : test::TemporaryDirectory {
  explicit File(const std::function<void(hid_t)>& fill) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    const hid_t file = H5Fcreate((*this / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    fill(file);
    H5Fclose(file);
  }
  Array read(const std::string& dataset) const {
    const Hdf5File file(*this / "a.h5");
    const Hdf5Dataset found = file.describe(dataset);
    if (found.extents.empty()) return {.text = found.text};
    return file.rows(dataset, found, {0, found.extents[0]});
  }
  std::string error(const std::string& dataset) const {
    try {
      read(dataset);
    } catch (const FormatError& error) {
      const std::string prefix = "dataset \"" + dataset + "\": ", text = error.what();
      EXPECT_TRUE(text.starts_with(prefix)) << text;
      return text.substr(std::min(prefix.size(), text.size()));
    }
    return "none";
  }
};

hid_t write(hid_t file, const char* name, hid_t stored, hid_t given, std::vector<hsize_t> extents,
            const void* values, hid_t how = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(int(extents.size()), extents.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, how, H5P_DEFAULT);
  if (values != nullptr) H5Dwrite(dataset, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  return dataset;
}

const std::vector<int> kSix = {1, -2, 3, 4, 5, 600};
const std::vector<double> kSixReal = {1, -2, 3, 4, 5, 600};

TEST(Hdf5Data, NumbersOfAnyTypeAndOrder) {
  const File file([](hid_t h) {
    write(h, "big", H5T_STD_I16BE, H5T_NATIVE_INT, {2, 3}, kSix.data());
    write(h, "single", H5T_IEEE_F32LE, H5T_NATIVE_INT, {6}, kSix.data());
    H5Gcreate2(h, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write(h, "group/cube", H5T_STD_I64LE, H5T_NATIVE_INT, {1, 2, 3}, kSix.data());
  });
  const Array big = file.read("big");
  EXPECT_EQ(big.extents, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(big.values, kSixReal);
  EXPECT_TRUE(big.whole);
  EXPECT_FALSE(file.read("single").whole);
  EXPECT_EQ(file.read("group/cube").extents, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(Hdf5Data, CompressedChunks) {
  const File file([](hid_t h) {
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {2, 2};
    H5Pset_chunk(how, 2, chunk);
    H5Pset_shuffle(how);
    H5Pset_deflate(how, 6);
    H5Pset_fletcher32(how);
    write(h, "x", H5T_STD_I32LE, H5T_NATIVE_INT, {2, 3}, kSix.data(), how);
    H5Pclose(how);
  });
  EXPECT_EQ(file.read("x").values, kSixReal);
}

TEST(Hdf5Data, SomeRowsOfAnyDataset) {
  std::vector<int> numbers(14);
  for (int i = 0; i < 14; ++i) numbers[std::size_t(i)] = i * i;
  const char* texts[] = {"a", "bcd", "", "ef", "g", "hi", "j"};
  const File file([&](hid_t h) {
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), any = H5Tcopy(H5T_C_S1);
    const hsize_t chunk[] = {3, 1};
    H5Pset_chunk(how, 2, chunk);
    H5Pset_deflate(how, 6);
    write(h, "chunks", H5T_STD_I32LE, H5T_NATIVE_INT, {7, 2}, numbers.data(), how);
    write(h, "plain", H5T_IEEE_F64BE, H5T_NATIVE_INT, {7, 2}, numbers.data());
    H5Tset_size(any, H5T_VARIABLE);
    write(h, "texts", any, any, {7}, texts);
    H5Pclose(how);
  });
  const Hdf5File opened(file / "a.h5");
  EXPECT_EQ(opened.describe("chunks").chunk, 3u);
  EXPECT_EQ(opened.describe("plain").chunk, 1u);
  EXPECT_TRUE(opened.describe("texts").text);
  for (const Range rows : {Range{0, 1}, Range{2, 5}, Range{6, 7}}) {
    const std::vector<double> expected(numbers.begin() + std::ptrdiff_t(2 * rows.begin),
                                       numbers.begin() + std::ptrdiff_t(2 * rows.end));
    for (const char* name : {"chunks", "plain"}) {
      const Array array = opened.rows(name, opened.describe(name), rows);
      EXPECT_EQ(array.values, expected) << name;
      EXPECT_EQ(array.extents, (std::vector<std::size_t>{rows.size(), 2}));
    }
    EXPECT_EQ(opened.rows("texts", opened.describe("texts"), rows).texts,
              (std::vector<std::string>(texts + rows.begin, texts + rows.end)));
  }
}

TEST(Hdf5Data, StringsOfFixedAndOfAnyLength) {
  const File file([](hid_t h) {
    const hid_t any = H5Tcopy(H5T_C_S1), fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(any, H5T_VARIABLE);
    H5Tset_size(fixed, 3);
    const char* texts[] = {"a", "bcd"};
    write(h, "any", any, any, {2}, texts);
    write(h, "fixed", fixed, fixed, {2}, "a\0\0bcd");
    H5Tset_strpad(fixed, H5T_STR_SPACEPAD);
    write(h, "padded", fixed, fixed, {2}, "a  bcd");
  });
  for (const char* name : {"any", "fixed", "padded"}) {
    EXPECT_EQ(file.read(name).texts, (std::vector<std::string>{"a", "bcd"})) << name;
  }
}

TEST(Hdf5Data, BooleansAsH5pyStoresThem) {
  const File file([](hid_t h) {
    const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
    for (const signed char value : {0, 1})
      H5Tenum_insert(boolean, value ? "TRUE" : "FALSE", &value);
    write(h, "x", boolean, boolean, {3}, "\1\0\1");
  });
  EXPECT_EQ(file.read("x").values, (std::vector<double>{1, 0, 1}));
  EXPECT_TRUE(file.read("x").whole);
}

TEST(Hdf5Data, WhatLiesElsewhereIsRefused) {
  const File file([](hid_t h) {
    write(h, "x", H5T_STD_I32LE, H5T_NATIVE_INT, {6}, kSix.data());
    H5Lcreate_soft("/x", h, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/etc/hostname", "/x", h, "external", H5P_DEFAULT, H5P_DEFAULT);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(how, "/etc/hostname", 0, H5F_UNLIMITED);
    write(h, "stored", H5T_STD_I8LE, H5T_NATIVE_CHAR, {4}, nullptr, how);
    H5Pclose(how);
  });
  EXPECT_EQ(file.error("soft"), "is reached through a soft or external link");
  EXPECT_EQ(file.error("external"), "is reached through a soft or external link");
  EXPECT_EQ(file.error("external/x"), "is reached through a soft or external link");
  EXPECT_EQ(file.error("stored"), "keeps its values in another file");
}

TEST(Hdf5Data, WhatIsNoTableIsRefused) {
  const File file([](hid_t h) {
    H5Gcreate2(h, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write(h, "scalar", H5T_STD_I32LE, H5T_NATIVE_INT, {}, kSix.data());
    write(h, "vast", H5T_STD_I32LE, H5T_NATIVE_INT, {1u << 20, 1u << 20}, nullptr);
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "a", 0, H5T_STD_I32LE);
    write(h, "pairs", pair, pair, {2}, nullptr);
  });
  EXPECT_EQ(file.error("nothing"), "does not exist");
  EXPECT_EQ(file.error("group"), "is not a dataset");
  EXPECT_EQ(file.read("scalar").extents.size(), 0u);
  EXPECT_EQ(file.error("vast"), "declares more values than the file can hold");
  EXPECT_EQ(file.error("pairs"), "holds neither numbers nor strings");
}

TEST(Hdf5Data, TheSuperblockTellsTheSize) {
  for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST}) {
    const test::TemporaryDirectory folder;
    const std::string path = folder / "a.h5";
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, version, H5F_LIBVER_LATEST);
    H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    H5Pclose(access);
    const std::string bytes = read_bytes(path);
    const auto size_of = [&](const std::string& some) {
      return hdf5_size(InputFile(folder.write("b.h5", some)));
    };
    EXPECT_EQ(size_of(bytes), bytes.size());
    EXPECT_EQ(size_of(bytes + "more"), bytes.size());
    EXPECT_EQ(test::message_of<FormatError>([&] { size_of(bytes.substr(0, bytes.size() - 1)); }),
              "ends early: its superblock says that it has " + std::to_string(bytes.size()) +
                  " bytes, it has " + std::to_string(bytes.size() - 1));
    for (const std::size_t at : {0, 8}) {
      std::string bad = bytes;
      bad[at] = 9;
      EXPECT_EQ(test::message_of<FormatError>([&] { size_of(bad); }), kNoHdf5);
    }
    EXPECT_EQ(test::message_of<FormatError>([&] { size_of(bytes.substr(0, 20)); }), kNoHdf5);
  }
}

TEST(Hdf5Data, ColumnsMustHaveTheSameRows) {
  const File file([](hid_t h) {
    write(h, "text", H5T_STD_I32LE, H5T_NATIVE_INT, {3, 2}, kSix.data());
    write(h, "label", H5T_STD_I32LE, H5T_NATIVE_INT, {6}, kSix.data());
  });
  const std::string path = file / "a.h5";
  try {
    test::read_table(path, {"text", "label"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              path + ": dataset \"label\": has 6 rows, the first column has 3");
  }
  const Table table = test::read_table(path, {"text", "text"});
  ASSERT_EQ(table.rows.size(), 3);
  EXPECT_EQ(std::get<FieldNumbers>(table.rows[1][0]).values, (std::vector<double>{3, 4}));
}

TEST(Hdf5Data, WholeNumbersThatDoubleRoundsAreRefused) {
  for (const std::uint64_t id : {(1ull << 53) + 1, ~0ull, ~0ull << 53}) {
    const std::vector<std::uint64_t> ids = {(1ull << 53) - 1, id};
    const File file([&](hid_t h) {
      write(h, "unsigned", H5T_STD_U64LE, H5T_NATIVE_UINT64, {2}, ids.data());
      write(h, "signed", H5T_STD_I64BE, H5T_NATIVE_INT64, {2}, ids.data());
      write(h, "real", H5T_IEEE_F64LE, H5T_NATIVE_UINT64, {2}, ids.data());
    });
    EXPECT_EQ(test::read_table(file / "a.h5", {"real"}).rows.size(), 2u);
    const auto refused = [&](const std::string& column) {
      try {
        test::read_table(file / "a.h5", {column});
      } catch (const DataError& error) {
        EXPECT_EQ(std::string(error.what()),
                  file / "a.h5" + ": dataset \"" + column +
                      "\": row 2: value 1 is a whole number of 2^53 or more, too large to be "
                      "exact");
        return true;
      }
      return false;
    };
    EXPECT_TRUE(refused("unsigned")) << id;
    EXPECT_EQ(refused("signed"), id != ~0ull) << id;  // which is -1 there
  }
}

}  // namespace
}  // namespace xgrad
