#include <xgrad/storage/archives/npy.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include <xgrad/storage/archives/zip.hpp>
#include <xgrad/storage/formats/little_endian.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 65536;
constexpr std::size_t kMostRank = 32;
constexpr std::size_t kAlignment = 64;  // alignment of the values in the file
constexpr const char* kNoHeader = "its npy header is not one that NumPy writes";

/// The npy type of a tensor's values. Values of one byte are those of a mask.
template <class T>
constexpr const char* kDescr = std::is_integral_v<T> ? sizeof(T) == 1 ? "|b1" : "<i4"
                               : sizeof(T) == 4      ? "<f4"
                                                     : "<f8";

std::string tuple(const Shape& shape) {
  return shape.size() == 1 ? "(" + std::to_string(shape[0]) + ",)" : to_string(shape);
}

struct Header {
  std::string descr;
  bool fortran;
  std::vector<std::size_t> shape;
};

/// Parses the dictionary literal of a header: rewrites Python's syntax as JSON and parses that.
Header parse_literal(std::string_view literal) try {
  check<FormatError>(literal.find_first_of("[]\"") == std::string_view::npos, kNoHeader);
  std::string json;
  for (const char c : literal) {
    if (c == ' ' || c == '\n') continue;
    if ((c == ')' || c == '}') && json.ends_with(',')) json.pop_back();
    const std::size_t other = std::string_view("'()TF").find(c);  // T, F: True and False
    json += other == std::string_view::npos ? c : "\"[]tf"[other];
  }
  const auto header = nlohmann::json::parse(json);
  const auto& shape = header.at("shape");
  const bool fits =
      header.size() == 3 && shape.is_array() &&
      std::ranges::all_of(shape, [](const auto& n) { return n.is_number_unsigned(); });
  check<FormatError>(fits, kNoHeader);
  return {header.at("descr"), header.at("fortran_order"), shape};
} catch (const nlohmann::json::exception&) {
  detail::fail<FormatError>(kNoHeader);
}

template <class Stored>
double stored(const char* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return double(value);
}

}  // namespace

struct NpyFile::Type {
  const char* descr;
  std::size_t size;
  bool whole;
  double (*read)(const char*);
};

namespace {

using Layout = NpyFile::Layout;

const NpyFile::Type kTypes[] = {
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
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text += char(c < 0x110000 ? "\0\xC0\xE0\xF0"[more] | c >> 6 * more : 0xFF);
    for (int rest = more; c < 0x110000 && rest-- > 0;) text += char(0x80 | (c >> 6 * rest & 0x3F));
  }
  return text;
}

/// Parses the layout of a file of `size` bytes that starts with `bytes`.
Layout parse(std::string_view bytes, std::uint64_t size) {
  check<FormatError>(bytes.size() > 12 && bytes.starts_with(kMagic), "is not a npy file");
  const std::uint64_t major = little_endian(bytes, 6, 1), minor = little_endian(bytes, 7, 1);
  check<FormatError>(major >= 1 && major <= 3 && minor == 0, "is a npy file of version ", major,
                     ".", minor, "; 1.0 to 3.0 are read");
  const std::size_t digits = major == 1 ? 2 : 4, begin = 8 + digits;
  const std::uint64_t length = little_endian(bytes, 8, digits);
  check<FormatError>(length <= kMostHeader && begin + length <= bytes.size(),
                     "the file is cut off in its header");
  const Header header = parse_literal(bytes.substr(begin, length));
  check<FormatError>(header.shape.size() <= kMostRank, "has ", header.shape.size(),
                     " axes, must have at most ", kMostRank);
  Layout layout{.extents = header.shape, .fortran = header.fortran, .begin = begin + length};
  for (const NpyFile::Type& type : kTypes) {
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
  const auto count = product(layout.extents);
  check<FormatError>(count.has_value(), "the shape is too large");
  layout.count = *count;
  const std::uint64_t values = size - layout.begin;
  check<FormatError>(product(layout.extents, layout.each) == values, "has ", values,
                     " bytes of values; its shape needs ", *count, " values of ", layout.each,
                     " bytes");
  return layout;
}

/// The array of these values.
Array decode(const Layout& layout, const char* values) {
  const NpyFile::Type* type = layout.type;
  Array array{.extents = layout.extents, .text = type == nullptr};
  array.whole = !array.text && type->whole;
  array.single = !array.text && !type->whole && type->size == sizeof(float);
  xt::xarray<std::size_t> places;  // where the values of a column-major array lie
  if (layout.fortran) {
    xt::xarray<std::size_t, xt::layout_type::column_major> columns(layout.extents);
    std::iota(columns.data(), columns.data() + columns.size(), 0);
    places = columns;
  }
  for (std::size_t i = 0; i < layout.count; ++i) {
    const char* at = values + (layout.fortran ? places.data()[i] : i) * layout.each;
    if (array.text) {
      array.texts.push_back(from_utf32(at, layout.each / 4));
    } else {
      array.values.push_back(type->read(at));
    }
  }
  return array;
}

}  // namespace

template <class T>
std::string to_npy(const Tensor<T>& tensor) {
  std::string header = std::string("{'descr': '") + kDescr<T> +
                       "', 'fortran_order': False, 'shape': " + tuple(tensor.shape()) + ", }";
  const std::size_t start = kMagic.size() + 4;
  header.append(kAlignment - 1 - (start + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += std::string("\1\0", 2) + to_little_endian(header.size(), 2) + header;
  bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size() * sizeof(T));
  return bytes;
}

Array read_npy(std::string_view bytes) {
  const Layout layout = parse(bytes, bytes.size());
  return decode(layout, bytes.data() + layout.begin);
}

std::string to_npz(const WeightFile& weights) {
  ZipArchive archive{.members = {}, .comment = weights.text};
  for (const NamedTensor& named : weights.tensors) {
    check_finite<NumericError>(named.name, named.tensor);
    archive.members.push_back(
        {named.name + ".npy", std::visit([](const auto& t) { return to_npy(t); }, named.tensor)});
  }
  return to_zip(archive);
}

WeightFile from_npz(std::string_view bytes) {
  WeightFile weights;
  for (const auto& [name, array] : from_zip(bytes).members) try {
      check<FormatError>(name.ends_with(".npy"), "is not a .npy array");
      weights.tensors.push_back(to_tensor(name.substr(0, name.size() - 4), read_npy(array)));
    } catch (const FormatError& error) {
      detail::fail<FormatError>("'", name, "': ", error.what());
    }
  return weights;
}

NpyFile::NpyFile(const std::string& path)
    : file_(path),
      layout_(
          parse(file_.read(0, std::min<std::size_t>(file_.size(), kMagic.size() + 6 + kMostHeader)),
                file_.size())) {}

// In column-major order, the values of a row are not contiguous: the file has a run of values for
// each place within a row, with one value from every row.
Array NpyFile::rows(const Range& rows) const {
  const Layout& all = layout_;
  Layout part = all;
  part.extents[0] = rows.size();
  const std::size_t in_a_row = all.count / all.extents[0];
  part.count = in_a_row * rows.size();
  std::string bytes(part.count * all.each, '\0');
  const std::size_t runs = all.fortran ? in_a_row : 1, run = bytes.size() / runs;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::size_t first = all.fortran ? i * all.extents[0] + rows.begin : rows.begin * in_a_row;
    file_.read(all.begin + first * all.each, run, bytes.data() + i * run);
  }
  return decode(part, bytes.data());
}

template std::string to_npy(const Tensor<float>&);
template std::string to_npy(const Tensor<double>&);
template std::string to_npy(const Ids&);
template std::string to_npy(const Mask&);

}  // namespace xgrad
