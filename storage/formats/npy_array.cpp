// NumPy's file format, as numpy.lib.format documents it: a magic number, a version, the length of a
// header that is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }, and
// the values.
#include <xgrad/storage/formats/npy_array.hpp>

#include <bit>
#include <charconv>
#include <cstring>
#include <set>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 65536;

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::size_t> shape;
};

/// Reads the one literal that a header may be, no other Python.
class HeaderParser {
 public:
  HeaderParser(const std::string& place, std::string_view text) : place_(place), text_(text) {}

  Header parse() {
    Header header;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      if (!keys.insert(key).second) fail();
      expect(':');
      if (key == "descr") {
        header.descr = string();
      } else if (key == "fortran_order") {
        header.fortran = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size() || keys.size() != 3) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    detail::fail<DataError>(place_, ": its npy header is not one that NumPy writes");
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string string() {
    expect('\'');
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail();
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return std::string(value);
  }
  bool boolean() {
    skip();
    for (const auto& [word, value] :
         {std::pair(std::string_view("True"), true), {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail();
  }
  std::vector<std::size_t> shape() {
    std::vector<std::size_t> extents;
    expect('(');
    while (!take(')')) {
      std::size_t extent = 0;
      const char* end = text_.data() + text_.size();
      skip();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, extent);
      if (error != std::errc()) fail();
      at_ = std::size_t(stop - text_.data());
      extents.push_back(extent);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::string place_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Where the header's text lies: (begin, length).
std::pair<std::size_t, std::size_t> find_header(const std::string& place, std::string_view bytes) {
  check<DataError>(bytes.size() > 12 && bytes.starts_with(kMagic), place, ": is not a npy file");
  const auto byte = [&](std::size_t at) {
    return std::size_t(static_cast<unsigned char>(bytes[at]));
  };
  const std::size_t major = byte(6);
  check<DataError>(major >= 1 && major <= 3 && byte(7) == 0, place, ": is a npy file of version ",
                   major, ".", byte(7), "; 1.0 to 3.0 are read");
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  const std::size_t begin = major == 1 ? 10 : 12;
  check<DataError>(length <= kMostHeader && begin + length <= bytes.size(), place,
                   ": the file is cut off in its header");
  return {begin, length};
}

template <class Stored>
double stored(const char* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return double(value);
}

struct Type {
  const char* descr;
  std::size_t size;
  bool whole;
  double (*read)(const char*);
};

const Type kTypes[] = {
    {"<f4", 4, false, stored<float>},       {"<f8", 8, false, stored<double>},
    {"|b1", 1, true, stored<std::uint8_t>}, {"|u1", 1, true, stored<std::uint8_t>},
    {"|i1", 1, true, stored<std::int8_t>},  {"<u2", 2, true, stored<std::uint16_t>},
    {"<i2", 2, true, stored<std::int16_t>}, {"<u4", 4, true, stored<std::uint32_t>},
    {"<i4", 4, true, stored<std::int32_t>}, {"<u8", 8, true, stored<std::uint64_t>},
    {"<i8", 8, true, stored<std::int64_t>},
};

/// UTF-32 to UTF-8, up to the zeros that pad it; what is no character becomes text that
/// check_text() refuses.
std::string from_utf32(const char* at, std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    std::uint32_t c;
    std::memcpy(&c, at + 4 * i, 4);
    if (c == 0) break;
    if (c < 0x80) {
      text += char(c);
    } else if (c < 0x800) {
      text += {char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      text += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)), char(0x80 | (c & 0x3F))};
    } else if (c < 0x110000) {
      text += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 0x3F)), char(0x80 | (c >> 6 & 0x3F)),
               char(0x80 | (c & 0x3F))};
    } else {
      text += char(0xFF);
    }
  }
  return text;
}

}  // namespace

Array read_npy(const std::string& place, std::string_view bytes) {
  const auto [begin, length] = find_header(place, bytes);
  const Header header = HeaderParser(place, bytes.substr(begin, length)).parse();
  check<DataError>(!header.fortran, place,
                   ": is in Fortran order; save numpy.ascontiguousarray() of it");
  Array array{.extents = header.shape};
  const Type* type = nullptr;
  for (const Type& each : kTypes) {
    if (header.descr == each.descr) type = &each;
  }
  std::size_t width = 0;  // characters of a text
  const std::string& descr = header.descr;
  array.text = descr.starts_with("<U") &&
               std::from_chars(descr.data() + 2, descr.data() + descr.size(), width).ptr ==
                   descr.data() + descr.size() &&
               width > 0 && width <= kMostHeader;
  check<DataError>(type != nullptr || array.text, place, ": is of the type '", descr,
                   "', which is not read: use little-endian numbers, booleans or str");
  const std::size_t each = array.text ? 4 * width : type->size;
  std::size_t count = 1, size = 0;
  for (std::size_t extent : array.extents) {
    check<DataError>(!__builtin_mul_overflow(count, extent, &count), place,
                     ": the shape is too large");
  }
  const std::string_view values = bytes.substr(begin + length);
  check<DataError>(!__builtin_mul_overflow(count, each, &size) && size == values.size(), place,
                   ": has ", values.size(), " bytes of values; its shape needs ", count, " times ",
                   each);
  array.whole = !array.text && type->whole;
  for (std::size_t i = 0; i < count; ++i) {
    const char* at = values.data() + i * each;
    if (array.text)
      array.texts.push_back(from_utf32(at, width));
    else
      array.values.push_back(type->read(at));
  }
  return array;
}

}  // namespace xgrad
