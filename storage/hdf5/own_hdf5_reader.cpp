#include <xgrad/storage/hdf5/own_hdf5.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/little_endian.hpp>

namespace xgrad {

namespace {

using namespace std::string_view_literals;
using Type = OwnHdf5Dataset::Type;

constexpr std::uint64_t kUndefined = ~std::uint64_t{0};
constexpr int kDepth = 3;
constexpr std::size_t kRank = 32;
constexpr std::size_t kNameLimit = 1024;

/// Types of header messages.
enum Message : std::uint64_t {
  kNil = 0x00,
  kDataspace = 0x01,
  kDatatype = 0x03,
  kFillValue = 0x05,
  kLayout = 0x08,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
};

struct KnownType {
  Type type;
  std::size_t size;
  std::string_view encoding;  // bytes of the datatype message
};

constexpr std::array<KnownType, 4> kNumbers{{
    {Type::float32, 4, "\x11\x20\x1f\0\4\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"sv},
    {Type::float64, 8, "\x11\x20\x3f\0\x8\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\3\0\0"sv},
    {Type::int64, 8, "\x10\x08\0\0\x8\0\0\0\0\0\x40\0"sv},
    {Type::uint64, 8, "\x10\0\0\0\x8\0\0\0\0\0\x40\0"sv},
}};
// UTF-8 with a closing zero byte; its size follows
constexpr std::string_view kText = "\x13\x10\0\0"sv;

/// Reads little-endian numbers and bytes, never outside the span.
class Span {
 public:
  explicit Span(std::string_view bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }

  std::string_view take(std::uint64_t at, std::uint64_t size) const {
    check<CheckpointError>(at <= bytes_.size() && size <= bytes_.size() - at,
                           "points outside of the file: ", size, " bytes at ", at, " of ",
                           bytes_.size());
    return bytes_.substr(at, size);
  }

  std::uint64_t number(std::uint64_t at, std::size_t size) const {
    return little_endian(take(at, size), 0, size);
  }

  void expect(std::uint64_t at, std::string_view wanted, const char* what) const {
    check<CheckpointError>(take(at, wanted.size()) == wanted, "has no ", what, " at ", at);
  }

 private:
  std::string_view bytes_;
};

/// The relevant messages of an object header, by type.
using Messages = std::map<std::uint64_t, Span>;

Shape parse_shape(Span message) {
  check<CheckpointError>(message.number(0, 1) == 1, "has a dataspace of an unknown version");
  const std::uint64_t rank = message.number(1, 1);
  const std::uint64_t flags = message.number(2, 1);
  check<CheckpointError>(rank <= kRank && flags <= 1, "has a dataspace of rank ", rank, ", flags ",
                         flags);
  Shape shape(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = message.number(8 + 8 * axis, 8);
    const bool fixed = flags == 0 || message.number(8 + 8 * (rank + axis), 8) == shape[axis];
    check<CheckpointError>(fixed, "has a shape that can grow");
  }
  return shape;
}

/// Returns the type and the size of an element in bytes.
std::pair<Type, std::size_t> parse_type(Span message) {
  const std::string_view head = message.take(0, 8);
  for (const KnownType& known : kNumbers) {
    const std::size_t size = std::min(message.size(), known.encoding.size());
    if (message.take(0, size) == known.encoding) return {known.type, known.size};
  }
  check<CheckpointError>(
      head.starts_with(kText) && message.number(4, 4) > 0,
      "its type must be little-endian float32, float64, int64 or uint64, or text");
  return {Type::text, message.number(4, 4)};
}

void check_message(std::uint64_t type) {
  const bool known =
      type == kDataspace || type == kDatatype || type == kLayout || type == kSymbolTable;
  check<CheckpointError>(type != 0x02 && type != 0x06, "has links of a kind that may be external");
  check<CheckpointError>(type != 0x07, "its data are in another file");
  check<CheckpointError>(type != 0x0b, "has filters, such as compression");
  check<CheckpointError>(known, "has a header message of type ", type, ", which no checkpoint has");
}

void check_contiguous(Span layout) {
  constexpr std::array<const char*, 4> kClasses{"compact", "contiguous", "chunked", "virtual"};
  const std::uint64_t version = layout.number(0, 1), kind = layout.number(1, 1);
  check<CheckpointError>(kind < kClasses.size(), "has a layout of unknown class ", kind);
  check<CheckpointError>(kind == 1, "is ", kClasses[kind], ", not contiguous");
  check<CheckpointError>(version == 3, "has a layout of version ", version);
}

class Parser {
 public:
  explicit Parser(std::string_view image) : image_(image) {}

  Hdf5Objects parse() try {
    // Signature, versions, and 8-byte offsets and lengths.
    image_.expect(0, "\x89HDF\r\n\x1a\n\0\0\0\0\0\x8\x8\0"sv, "superblock of version 0");
    check<CheckpointError>(image_.number(24, 8) == 0, "its base address is not 0");
    check<CheckpointError>(image_.number(40, 8) == image_.size(), "should have ",
                           image_.number(40, 8), " bytes, not ", image_.size());
    check<CheckpointError>(image_.number(48, 8) == kUndefined, "has a driver block");
    object("/", image_.number(64, 8), 0);
    return std::move(objects_);
  } catch (const CheckpointError& error) {
    detail::fail<CheckpointError>(path_, path_.empty() ? "" : ": ", error.what());
  }

 private:
  /// Claims the bytes of a structure. Structures of a valid file do not overlap, so together they
  /// are no larger than the file. This ends every loop in a malicious file.
  void claim(std::uint64_t bytes) {
    check<CheckpointError>(bytes <= image_.size() - claimed_, "needs more bytes than the file has");
    claimed_ += bytes;
  }

  Span structure(std::uint64_t at, std::uint64_t size) {
    const Span span(image_.take(at, size));
    claim(size);
    return span;
  }

  void object(const std::string& path, std::uint64_t header, int depth) {
    const std::string outer = std::exchange(path_, path);
    check<CheckpointError>(depth <= kDepth, "is nested deeper than anything in a checkpoint");
    const auto [before, fresh] = headers_.emplace(header, path);
    check<CheckpointError>(fresh, "is the same object as ", before->second);

    const Messages messages = object_header(header);
    const auto table = messages.find(kSymbolTable);
    const bool group = table != messages.end() && messages.size() == 1;
    const bool added =
        objects_.emplace(path, group ? std::nullopt : std::optional(dataset(messages))).second;
    check<CheckpointError>(added, "appears twice");
    if (group) symbol_table(table->second, depth + 1);
    path_ = outer;
  }

  Messages object_header(std::uint64_t at) {
    const Span prefix = structure(at, 16);
    check<CheckpointError>(prefix.number(0, 1) == 1, "has no object header of version 1");
    std::vector<Span> blocks{structure(at + 16, prefix.number(8, 4))};
    Messages messages;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Span block = blocks[i];
      for (std::uint64_t next = 0; next < block.size();) {
        const std::uint64_t type = block.number(next, 2), size = block.number(next + 2, 2);
        check<CheckpointError>(block.number(next + 4, 1) <= 1, "shares a header message");
        const Span message(block.take(next + 8, size));
        next += 8 + size;
        if (type == kContinuation) {
          blocks.push_back(structure(message.number(0, 8), message.number(8, 8)));
        } else if (type != kNil && type != kFillValue && type != kAttribute) {  // for other readers
          check_message(type);
          check<CheckpointError>(messages.emplace(type, message).second,
                                 "has two header messages of type ", type);
        }
      }
    }
    return messages;
  }

  OwnHdf5Dataset dataset(const Messages& messages) {
    const bool whole = messages.size() == 3 && messages.contains(kDataspace) &&
                       messages.contains(kDatatype) && messages.contains(kLayout);
    check<CheckpointError>(whole, "is neither a group nor a dataset");
    const Span layout = messages.at(kLayout);
    check_contiguous(layout);
    OwnHdf5Dataset result;
    result.path = path_;
    result.shape = parse_shape(messages.at(kDataspace));
    const auto [type, each] = parse_type(messages.at(kDatatype));
    result.type = type;
    const auto bytes = product(result.shape, each);
    check<CheckpointError>(bytes && *bytes <= image_.size(), "shape ", result.shape,
                           " needs more bytes than the file has");
    check<CheckpointError>(layout.number(10, 8) == *bytes, "shape ", result.shape, " needs ",
                           *bytes, " bytes, but ", layout.number(10, 8), " are stored");
    claim(*bytes);
    if (*bytes > 0) result.bytes = image_.take(layout.number(2, 8), *bytes);
    return result;
  }

  void symbol_table(Span message, int depth) {
    const Span heap = structure(message.number(8, 8), 32);
    heap.expect(0, "HEAP\0\0\0\0"sv, "local heap");
    const Span names(image_.take(heap.number(24, 8), heap.number(8, 8)));
    tree(message.number(0, 8), -1, names, depth);
  }

  /// Reads a node of a group's B-tree. `level` is -1 for the root, which may have any level.
  void tree(std::uint64_t at, int level, Span names, int depth) {
    const Span node = structure(at, 24);
    node.expect(0, "TREE\0"sv, "tree of links");
    const int own = static_cast<int>(node.number(5, 1));
    check<CheckpointError>(level == -1 || own == level, "has an unbalanced tree of links");
    const std::uint64_t count = node.number(6, 2);
    const Span entries = structure(at + 24, 16 * count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t child = entries.number(16 * i + 8, 8);
      if (own > 0) {
        tree(child, own - 1, names, depth);
      } else {
        leaf(child, names, depth);
      }
    }
  }

  /// Reads a symbol table node, which holds links of one group.
  void leaf(std::uint64_t at, Span names, int depth) {
    constexpr std::uint64_t kEntry = 40;
    const Span node = structure(at, 8);
    node.expect(0, "SNOD\1\0"sv, "symbol table node");
    const std::uint64_t count = node.number(6, 2);
    const Span entries = structure(at + 8, kEntry * count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string path =
          (path_ == "/" ? "" : path_) + "/" + name(names, entries.number(kEntry * i, 8));
      check<CheckpointError>(entries.number(kEntry * i + 16, 4) <= 1, "its link ", path,
                             " is a soft link; a checkpoint has none");
      object(path, entries.number(kEntry * i + 8, 8), depth);
    }
  }

  std::string name(Span names, std::uint64_t at) {
    const std::string_view rest =
        names.take(at, std::min(kNameLimit, names.size() - std::min(at, names.size())));
    const std::string_view name = rest.substr(0, rest.find('\0'));
    const bool ok =
        name.size() < rest.size() && !name.empty() && name.find('/') == std::string_view::npos;
    check<CheckpointError>(ok, "has a link with an invalid name");
    claim(name.size());
    return std::string(name);
  }

  Span image_;
  Hdf5Objects objects_;
  std::map<std::uint64_t, std::string> headers_;
  std::size_t claimed_ = 0;
  std::string path_;  // of the object being read
};

template <class T>
T scalar(const OwnHdf5Dataset& dataset) {
  check<CheckpointError>(dataset.shape.empty(), dataset.path, ": has shape ", dataset.shape,
                         ", not one value");
  T value{};
  std::memcpy(&value, dataset.bytes.data(), sizeof value);
  return value;
}

}  // namespace

AnyTensor OwnHdf5Dataset::tensor() const {
  if (type == Type::float32) return tensor_of<float>(shape, bytes);
  check<CheckpointError>(type == Type::float64, path, ": its type is neither float32 nor float64");
  return tensor_of<double>(shape, bytes);
}

std::uint64_t OwnHdf5Dataset::number() const {
  check<CheckpointError>(type == Type::uint64, path, ": its type is not uint64");
  return scalar<std::uint64_t>(*this);
}

StateValue OwnHdf5Dataset::value() const {
  if (type == Type::int64) return scalar<std::int64_t>(*this);
  if (type == Type::float64) return scalar<double>(*this);
  return text();
}

std::string OwnHdf5Dataset::text() const {
  check<CheckpointError>(type == Type::text, path, ": its type must be int64, float64 or text");
  check<CheckpointError>(shape.empty(), path, ": has shape ", shape, ", not one text");
  check<CheckpointError>(bytes.find('\0') == bytes.size() - 1, path,
                         ": is not one text that ends in a zero byte");
  return std::string(bytes.substr(0, bytes.size() - 1));
}

Hdf5Objects read_hdf5(std::string_view image) {
  return Parser(image).parse();
}

}  // namespace xgrad
