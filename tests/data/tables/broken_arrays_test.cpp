// Arrays that are wrong, each with the message that says where and how.
#include <data/tables/broken.hpp>

namespace xgrad {
namespace {

std::string array(const std::string& descr, const std::string& shape, const std::string& values) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + char(header.size() >> 8) +
         header + values;
}

const std::string kHeader = "its npy header is not one that NumPy writes";
const Options kOne = {{"input", "a"}, {"target", "a"}};
const std::string kTwo(8, '\0');
const std::vector<Broken> kBrokenArrays = {
    {"no HDF5", "a.h5", "text,label\n", {}, "FILE: is not an HDF5 file, or is damaged"},
    {"one npy for two columns",
     "a.npy",
     array("<f4", "(2,)", kTwo),
     {},
     "FILE: one npy file holds one column; name a folder with text.npy and label.npy"},
    {"no npy", "x/a.npy", "text,label\n1,2\n", kOne, "FILE: is not a npy file"},
    {"newer version", "x/a.npy", std::string("\x93NUMPY\x04\x00", 8) + std::string(60, ' '), kOne,
     "FILE: is a npy file of version 4.0; 1.0 to 3.0 are read"},
    {"cut header", "x/a.npy", array("<f4", "(2,)", kTwo).substr(0, 40), kOne,
     "FILE: the file is cut off in its header"},
    {"cut values", "x/a.npy", array("<f4", "(2,)", kTwo.substr(7)), kOne,
     "FILE: has 1 bytes of values; its shape needs 2 values of 4 bytes"},
    {"pickled", "x/a.npy", array("|O", "(2,)", kTwo), kOne,
     "FILE: has the type '|O', which xgrad does not read; use little-endian numbers, booleans or "
     "str"},
    {"big-endian", "x/a.npy", array(">f4", "(2,)", kTwo), kOne,
     "FILE: has the type '>f4', which xgrad does not read; use little-endian numbers, booleans or "
     "str"},
    {"overflowing shape", "x/a.npy", array("<f4", "(4294967296, 4294967296)", kTwo), kOne,
     "FILE: the shape is too large"},
    {"not a tuple", "x/a.npy", array("<f4", "[2]", kTwo), kOne, "FILE: " + kHeader},
    {"code in the header", "x/a.npy", array("<f4", "exit()", kTwo), kOne, "FILE: " + kHeader},
    {"no axes", "x/a.npy", array("<f4", "()", kTwo.substr(4)), kOne,
     "FILE: has 0 axes, must have from 1 (rows) to 3"},
    {"no rows", "x/a.npy", array("<f4", "(0,)", ""), kOne, "FILE: axis 1 has size 0"},
    {"not a number", "x/a.npy", array("<f4", "(2,)", std::string("\0\0\x80\x3f\0\0\xc0\x7f", 8)),
     kOne, "FILE: row 2: value 1 is not finite"},
    {"whole number that double rounds", "x/a.npy",
     array("<u8", "(2,)", std::string("\1\0\0\0\0\0\0\0\1\0\0\0\0\0\x20\0", 16)), kOne,
     "FILE: row 2: value 1 is a whole number of 2^53 or more, too large to be exact"},
    {"fractions as words", "x/a.npy", array("<f4", "(2,)", kTwo), kOne,
     "FOLDER: row 1, column \"a\": holds numbers that are not whole, must be words or whole "
     "numbers"},
};

TEST(BrokenFiles, ArraysSayWhereAndHow) {
  expect_messages(kBrokenArrays);
}

}  // namespace
}  // namespace xgrad
