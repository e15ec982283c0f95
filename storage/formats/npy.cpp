#include <xgrad/storage/formats/npy.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <set>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/little_endian.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 65536;
constexpr std::size_t kMostRank = 32;
constexpr std::size_t kAlignment = 64;  // alignment of the values in the file

template <class T>
constexpr const char* kDescr = "<f4";
template <>
constexpr const char* kDescr<double> = "<f8";
template <>
constexpr const char* kDescr<std::int32_t> = "<i4";
template <>
constexpr const char* kDescr<std::uint8_t> = "|b1";

std::string tuple(const Shape& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();  // "(3,)"
  return text + ")";
}

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::size_t> shape;
};

/// Parses the dictionary literal of a header, and no other Python.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

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
    detail::fail<FormatError>("its npy header is not one that NumPy writes");
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

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Returns (begin, length) of the header's text.
std::pair<std::size_t, std::size_t> find_header(std::string_view bytes) {
  check<FormatError>(bytes.size() > 12 && bytes.starts_with(kMagic), "is not a npy file");
  const std::uint64_t major = little_endian(bytes, 6, 1), minor = little_endian(bytes, 7, 1);
  check<FormatError>(major >= 1 && major <= 3 && minor == 0, "is a npy file of version ", major,
                     ".", minor, "; 1.0 to 3.0 are read");
  const std::size_t width = major == 1 ? 2 : 4, begin = 8 + width;
  const std::uint64_t length = little_endian(bytes, 8, width);
  check<FormatError>(length <= kMostHeader && begin + length <= bytes.size(),
                     "the file is cut off in its header");
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

/// Converts UTF-32 to UTF-8, up to the zero padding. Invalid code points become bytes that
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

/// Layout of the values, from the header.
struct Layout {
  std::vector<std::size_t> extents;
  bool fortran = false;        ///< column-major order
  const Type* type = nullptr;  ///< null for texts
  std::size_t each = 0;        ///< bytes per value
  std::size_t begin = 0;       ///< offset of the values
  std::size_t count = 1;
};

/// Parses the layout of a file of `size` bytes that starts with `bytes`.
Layout parse(std::string_view bytes, std::uint64_t size) {
  const auto [begin, length] = find_header(bytes);
  const Header header = HeaderParser(bytes.substr(begin, length)).parse();
  check<FormatError>(header.shape.size() <= kMostRank, "has ", header.shape.size(),
                     " axes, must have at most ", kMostRank);
  Layout layout{.extents = header.shape, .fortran = header.fortran, .begin = begin + length};
  for (const Type& type : kTypes) {
    if (header.descr == type.descr) layout.type = &type;
  }
  const std::string& descr = header.descr;
  const char* end = descr.data() + descr.size();
  std::size_t width = 0;  // characters per text
  const bool text = descr.starts_with("<U") &&
                    std::from_chars(descr.data() + 2, end, width).ptr == end && width > 0 &&
                    width <= kMostHeader;
  check<FormatError>(layout.type != nullptr || text, "has the type '", descr,
                     "', which xgrad does not read; use little-endian numbers, booleans or str");
  layout.each = text ? 4 * width : layout.type->size;
  for (const std::size_t extent : layout.extents) {
    check<FormatError>(!__builtin_mul_overflow(layout.count, extent, &layout.count),
                       "the shape is too large");
  }
  std::size_t needed = 0;
  const std::uint64_t values = size - layout.begin;
  check<FormatError>(
      !__builtin_mul_overflow(layout.count, layout.each, &needed) && needed == values, "has ",
      values, " bytes of values; its shape needs ", layout.count, " values of ", layout.each,
      " bytes");
  return layout;
}

/// Calls `visit` with the offset of each value among the values, in row-major order.
template <class Visit>
void for_each_place(const Layout& layout, Visit visit) {
  const std::vector<std::size_t>& extents = layout.extents;
  std::vector<std::size_t> index(extents.size(), 0);
  for (std::size_t i = 0; i < layout.count; ++i) {
    std::size_t place = layout.fortran ? 0 : i;
    for (std::size_t axis = extents.size(); layout.fortran && axis-- > 0;) {
      place = place * extents[axis] + index[axis];
    }
    visit(place * layout.each);
    for (std::size_t axis = extents.size();
         layout.fortran && axis-- > 0 && ++index[axis] == extents[axis];) {
      index[axis] = 0;
    }
  }
}

/// The array of these values.
Array decode(const Layout& layout, const char* values) {
  const Type* type = layout.type;
  Array array{.extents = layout.extents, .text = type == nullptr};
  array.whole = !array.text && type->whole;
  array.single = !array.text && !type->whole && type->size == sizeof(float);
  if (array.text) {
    for_each_place(layout, [&](std::size_t at) {
      array.texts.push_back(from_utf32(values + at, layout.each / 4));
    });
  } else {
    array.values.reserve(layout.count);
    for_each_place(layout,
                   [&](std::size_t at) { array.values.push_back(type->read(values + at)); });
  }
  return array;
}

/// Parses the layout of a file from its first bytes.
Layout parse(const InputFile& file) {
  const std::uint64_t longest = kMagic.size() + 6 + kMostHeader;
  return parse(file.read(0, std::size_t(std::min(file.size(), longest))), file.size());
}

}  // namespace

template <class T>
std::string to_npy(const Tensor<T>& tensor) {
  std::string header = std::string("{'descr': '") + kDescr<T> +
                       "', 'fortran_order': False, 'shape': " + tuple(tensor.shape()) + ", }";
  const std::size_t start = kMagic.size() + 4;
  const std::size_t end = (start + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(end - start - 1, ' ');
  header += '\n';
  const auto size = std::uint16_t(header.size());
  std::string bytes(kMagic);
  bytes += {'\1', '\0', char(size & 0xff), char(size >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size() * sizeof(T));
  return bytes;
}

Array read_npy(std::string_view bytes) {
  const Layout layout = parse(bytes, bytes.size());
  return decode(layout, bytes.data() + layout.begin);
}

struct NpyFile::Opened {
  InputFile file;
  Layout layout;
};

NpyFile::NpyFile(const std::string& path) {
  InputFile file(path);
  Layout layout = parse(file);
  opened_.reset(new Opened{std::move(file), std::move(layout)});
}

NpyFile::~NpyFile() = default;
NpyFile::NpyFile(NpyFile&&) noexcept = default;

const std::vector<std::size_t>& NpyFile::extents() const {
  return opened_->layout.extents;
}

bool NpyFile::is_text() const {
  return opened_->layout.type == nullptr;
}

const InputFile& NpyFile::file() const {
  return opened_->file;
}

// In column-major order, the values of the rows lie apart, in a run for each place within a row.
Array NpyFile::rows(const Range& rows) const {
  const Layout& all = opened_->layout;
  Layout part = all;
  part.extents[0] = rows.size();
  const std::size_t in_a_row = all.count / all.extents[0];
  part.count = in_a_row * rows.size();
  std::string bytes(part.count * all.each, '\0');
  const std::size_t runs = all.fortran ? in_a_row : 1, run = bytes.size() / runs;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::size_t first = all.fortran ? i * all.extents[0] + rows.begin : rows.begin * in_a_row;
    opened_->file.read(all.begin + first * all.each, run, bytes.data() + i * run);
  }
  return decode(part, bytes.data());
}

template std::string to_npy(const Tensor<float>&);
template std::string to_npy(const Tensor<double>&);
template std::string to_npy(const Ids&);
template std::string to_npy(const Mask&);

}  // namespace xgrad
