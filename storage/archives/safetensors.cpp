#include <xgrad/storage/archives/safetensors.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include <xgrad/storage/formats/little_endian.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kPrefix = 8;  // bytes of the length of the header
constexpr std::size_t kLimit = 100'000'000;
constexpr const char* kDigest = "sha256";
constexpr const char* kConfig = "config";
constexpr const char* kVersionKey = "xgrad_version";

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";  // key of the metadata
constexpr std::size_t kRank = 32;
constexpr std::size_t kNameLimit = 1000;

struct Entry {
  std::string name;
  std::string dtype;                 // type, such as "F32"
  std::vector<std::uint64_t> shape;  // sizes of the axes, at most 32
  std::uint64_t begin = 0, end = 0;  // byte range, from the first byte of data
};

struct Header {
  Json metadata = Json::object();
  std::vector<Entry> entries;
};

/// Refuses control characters, because names appear in messages, and messages on terminals.
void check_name(const std::string& name) {
  const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  check<FormatError>(name.size() <= kNameLimit && std::none_of(name.begin(), name.end(), control),
                     "its header has a name that is too long or has control characters");
}

/// Checks a header while it is parsed. Refuses repeated names, because the parsed tree would not
/// show them. Refuses structures that the format does not have, because they could make the tree
/// much larger than the text.
class Guard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::key) {
      const auto key = parsed.get<std::string>();
      check_name(key);
      check<FormatError>(open_[depth - 1].insert(key).second, depth == 1 ? "" : name_ + ": ", "'",
                         key, "' appears twice");
      if (depth == 1) name_ = key;
    }
    check<FormatError>(event != Event::object_start || depth < 2, name_, ": has an object inside");
    check<FormatError>(event != Event::array_start || depth == 2, name_, ": has a list inside");
    if (event == Event::object_start) open_[depth].clear();
    if (event == Event::array_start) numbers_ = 0;
    const bool many = event == Event::value && depth == 3 && ++numbers_ > kRank;
    check<FormatError>(!many, name_, ": has more than ", kRank, " axes");
    return true;
  }

 private:
  std::string name_;                                // current key of the header
  std::array<std::set<std::string>, 2> open_ = {};  // keys of the header, and of its current entry
  std::size_t numbers_ = 0;                         // in the current list
};

std::vector<std::uint64_t> numbers_of(const Json& value, const std::string& where) {
  const auto whole = [](const Json& number) { return number.is_number_unsigned(); };
  check<FormatError>(value.is_array() && std::all_of(value.begin(), value.end(), whole), where,
                     " must be a list of whole numbers, none of them negative");
  return value.get<std::vector<std::uint64_t>>();
}

Entry entry_of(const std::string& name, const Json& json) {
  const bool all = json.size() == 3 && json.contains("dtype") && json.contains("shape") &&
                   json.contains("data_offsets");
  check<FormatError>(all, name, ": must have dtype, shape and data_offsets, and nothing else");
  const auto offsets = numbers_of(json["data_offsets"], name + ": data_offsets");
  check<FormatError>(offsets.size() == 2, name, ": data_offsets must be two numbers");
  check<FormatError>(json["dtype"].is_string(), name, ": dtype must be a text");
  check_name(json["dtype"]);
  return {name, json["dtype"], numbers_of(json["shape"], name + ": shape"), offsets[0], offsets[1]};
}

Header parse_header(std::string_view text) try {
  // The parser treats a zero byte as the end of the text.
  check<FormatError>(text.find('\0') == std::string_view::npos, "its header holds a zero byte");
  Header header;
  const Json json = Json::parse(text, Guard());
  for (const auto& [name, value] : json.items()) {
    check<FormatError>(value.is_object(), name, ": must be an object");
    if (name != kMetadata) {
      header.entries.push_back(entry_of(name, value));
      continue;
    }
    for (const auto& [key, data] : value.items()) {
      check<FormatError>(data.is_string(), kMetadata, ": ", key, " must be a text");
    }
    header.metadata = value;
  }
  return header;
} catch (const Json::exception& error) {
  detail::fail<FormatError>("its header is not JSON: ", error.what());
}

/// Returns the bytes that dtype and shape need. Checks the extents of empty tensors too.
std::uint64_t needed_bytes(const Entry& entry) {
  const bool single = entry.dtype == "F32";
  check<FormatError>(single || entry.dtype == "F64", entry.name, ": its dtype is ", entry.dtype,
                     "; F32 and F64 can be read");
  std::vector<std::uint64_t> extents = entry.shape;
  const bool empty = std::erase(extents, 0) > 0;
  const auto bytes = product(extents, single ? sizeof(float) : sizeof(double));
  check<FormatError>(bytes && std::int64_t(*bytes) >= 0, entry.name,
                     ": its shape needs more bytes than can be counted");
  return empty ? 0 : *bytes;
}

/// Checks that every byte of the data belongs to exactly one tensor, and that sizes are right.
void check_cover(const std::vector<Entry>& entries, std::uint64_t size) {
  std::uint64_t position = 0;
  for (const Entry& entry : entries) {
    check<FormatError>(entry.begin == position, entry.name, ": begins at byte ", entry.begin,
                       " of the data, ",
                       entry.begin < position ? "inside another tensor" : "after a gap");
    const std::uint64_t bytes = needed_bytes(entry);
    check<FormatError>(entry.end >= entry.begin && entry.end - entry.begin == bytes, entry.name,
                       ": its shape needs ", bytes, " bytes, but its data_offsets are ",
                       entry.begin, " and ", entry.end);
    check<FormatError>(entry.end <= size, entry.name, ": ends at byte ", entry.end,
                       " of the data, which has only ", size);
    position = entry.end;
  }
  check<FormatError>(position == size, size - position, " unused bytes after the last tensor");
}

// Ignores the metadata of other writers, whose keys may have other meanings.
void check_digest(const Header& header, std::string_view data) {
  if (!header.metadata.contains(kVersionKey)) return;
  check<FormatError>(header.metadata.value(kDigest, "") == to_hex(sha256(data)),
                     "damaged, or changed by another program: the SHA-256 of the data is "
                     "not the one in the metadata");
}

}  // namespace

std::string to_safetensors(const WeightFile& weights) try {
  std::vector<const NamedTensor*> tensors;
  for (const NamedTensor& t : weights.tensors) tensors.push_back(&t);
  std::ranges::sort(tensors, {}, [](const NamedTensor* t) {
    return std::tuple(std::holds_alternative<Tensor<float>>(t->tensor), std::string_view(t->name));
  });
  nlohmann::ordered_json header{{kMetadata, nullptr}};  // the first key
  std::string data;
  for (const NamedTensor* t : tensors) {
    const Shape& shape = shape_of(t->tensor);
    const bool single = std::holds_alternative<Tensor<float>>(t->tensor);
    check_finite<NumericError>(t->name, t->tensor);
    check_name(t->name);
    check<FormatError>(t->name != kMetadata, "'", kMetadata, "' is not a valid name for a tensor");
    check<FormatError>(!header.contains(t->name), "'", t->name, "' appears twice");
    const std::size_t begin = data.size();
    data += bytes_of(t->tensor);
    header[t->name] = {{"dtype", single ? "F32" : "F64"},
                       {"shape", std::vector<std::size_t>(shape.begin(), shape.end())},
                       {"data_offsets", {begin, data.size()}}};
  }
  header[kMetadata] = {{kConfig, weights.text},
                       {"format", "pt"},
                       {kDigest, to_hex(sha256(data))},
                       {kVersionKey, kVersion}};
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');  // aligns the data
  check<FormatError>(json.size() <= kLimit, "needs a header of ", json.size(),
                     " bytes; the limit is ", kLimit);
  std::string file = to_little_endian(json.size());
  file.reserve(kPrefix + json.size() + data.size());
  file += json;
  file += data;
  return file;
} catch (const Json::exception& error) {
  detail::fail<FormatError>("a name or a text is not UTF-8: ", error.what());
}

WeightFile from_safetensors(std::string_view file) {
  check<FormatError>(file.size() > kPrefix && file[kPrefix] == '{',
                     "is not a safetensors file: there is no header at byte ", kPrefix);
  const std::uint64_t size = little_endian(file, 0, kPrefix);
  check<FormatError>(size <= kLimit, "its header claims ", size, " bytes; the limit is ", kLimit);
  check<FormatError>(size <= file.size() - kPrefix, "ends inside its header: it has ", file.size(),
                     " bytes, the header claims ", size);
  Header header = parse_header(file.substr(kPrefix, size));
  const std::string_view data = file.substr(kPrefix + size);
  std::ranges::stable_sort(header.entries, {},
                           [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  check_cover(header.entries, data.size());
  check_digest(header, data);

  WeightFile weights;
  for (const Entry& entry : header.entries) {
    const auto read = entry.dtype == "F32" ? tensor_of<float> : tensor_of<double>;
    weights.tensors.push_back(
        {entry.name, read(Shape(entry.shape.begin(), entry.shape.end()),
                          data.substr(entry.begin, entry.end - entry.begin))});
    check_finite<FormatError>(entry.name, weights.tensors.back().tensor);
  }
  if (header.metadata.contains(kVersionKey)) weights.text = header.metadata.value(kConfig, "");
  return weights;
}

}  // namespace xgrad
