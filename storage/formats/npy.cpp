#include <xgrad/storage/formats/npy.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <regex>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLongest = 1024;  // of a header: enough for all axes
constexpr std::size_t kMostAxes = 32;

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
  bool columns_first = false;
  Shape shape;
};

/// Cuts the header off `bytes` and leaves the data.
std::string take_header(std::string_view& bytes) {
  check<CheckpointError>(bytes.starts_with(kMagic) && bytes.size() >= 12, "is no .npy array");
  const int version = bytes[6];
  check<CheckpointError>(version >= 1 && version <= 3, ".npy of version ", version,
                         "; 1 to 3 can be read");
  const std::size_t width = version == 1 ? 2 : 4, start = 8 + width;
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data() + 8, width);
  check<CheckpointError>(size <= kLongest && size <= bytes.size() - start, "a header of ", size,
                         " bytes");
  const std::string text(bytes.substr(start, size));
  bytes.remove_prefix(start + size);
  return text;
}

Shape parse_tuple(const std::string& text) {
  Shape shape;
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator n(text.begin(), text.end(), number), end; n != end; ++n) {
    check<CheckpointError>(n->length() < 19, "an extent of ", n->str());
    shape.push_back(std::stoull(n->str()));
  }
  check<CheckpointError>(shape.size() <= kMostAxes, shape.size(), " axes");
  return shape;
}

Header parse(const std::string& text) {
  // Python's literal as every version of NumPy prints it.
  static const std::regex form(R"(\{'descr': '([^'\\]*)', 'fortran_order': (False|True), )"
                               R"('shape': (\((?:|[0-9]+L?,|[0-9]+L?(?:, [0-9]+L?)+)\)), \} *\n)");
  std::smatch found;
  check<CheckpointError>(std::regex_match(text, found, form),
                         "the header is not as NumPy writes it");
  return {found[1], found[2] == "True", parse_tuple(found[3])};
}

/// Throws unless there are exactly as many bytes as the shape needs.
void check_size(const Shape& shape, std::size_t item, std::size_t bytes) {
  std::size_t needed = item;
  bool fits = true, none = false;
  for (const std::size_t extent : shape) {
    none = none || extent == 0;
    fits = fits && !__builtin_mul_overflow(needed, std::max<std::size_t>(extent, 1), &needed);
  }
  if (none) needed = 0;
  check<CheckpointError>(fits && needed == bytes, "the shape ", shape, " needs ",
                         fits ? std::to_string(needed) : "uncountable", " bytes, there are ",
                         bytes);
}

/// Data with the first axis running fastest, in row-major order.
template <class T>
void rows_first(Tensor<T>& tensor) {
  const Tensor<T> columns = tensor;
  const Shape& shape = tensor.shape();
  Shape index(shape.size(), 0);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    std::size_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) from = from * shape[axis] + index[axis];
    tensor.data()[i] = columns.data()[from];
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
      index[axis] = 0;
    }
  }
}

template <class T>
AnyTensor read(const Header& header, std::string_view data) {
  check_size(header.shape, sizeof(T), data.size());
  Tensor<T> tensor = empty<T>(header.shape);
  if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
  if (header.columns_first) rows_first(tensor);
  return tensor;
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

AnyTensor from_npy(std::string_view bytes) {
  const Header header = parse(take_header(bytes));
  check<CheckpointError>(header.descr == "<f4" || header.descr == "<f8", "its type is '",
                         header.descr, "'; '<f4' and '<f8' can be read");
  return header.descr == "<f4" ? read<float>(header, bytes) : read<double>(header, bytes);
}

template std::string to_npy(const Tensor<float>&);
template std::string to_npy(const Tensor<double>&);
template std::string to_npy(const Ids&);
template std::string to_npy(const Mask&);

}  // namespace xgrad
