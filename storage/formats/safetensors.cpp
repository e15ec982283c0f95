#include <xgrad/storage/formats/safetensors.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>

#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/safetensors_header.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

using Entry = SafetensorsHeader::Entry;
constexpr auto kMetadata = SafetensorsHeader::kMetadata;

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kPrefix = 8;  // bytes of the length of the header
constexpr std::size_t kLimit = 100'000'000;
constexpr const char* kDigest = "sha256";
constexpr const char* kConfig = "config";
constexpr const char* kVersionKey = "xgrad_version";

std::string_view bytes_of(const AnyTensor& tensor) {
  return std::visit(
      [](const auto& t) {
        return std::string_view(reinterpret_cast<const char*>(t.data()),
                                t.size() * sizeof(t.data()[0]));
      },
      tensor);
}

Entry describe(const NamedTensor& named) {
  Entry entry{.name = named.name, .dtype = {}, .shape = {}};
  std::visit(
      [&]<class T>(const Tensor<T>& t) {
        entry.dtype = sizeof(T) == sizeof(float) ? "F32" : "F64";
        entry.shape.assign(t.shape().begin(), t.shape().end());
      },
      named.tensor);
  return entry;
}

std::vector<const NamedTensor*> sorted(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> result;
  for (const NamedTensor& t : tensors) result.push_back(&t);
  const auto order = [](const NamedTensor* t) {
    return std::tuple(std::holds_alternative<Tensor<float>>(t->tensor), std::string_view(t->name));
  };
  std::sort(result.begin(), result.end(),
            [&](const NamedTensor* a, const NamedTensor* b) { return order(a) < order(b); });
  return result;
}

void check_names(const SafetensorsHeader& header) {
  std::set<std::string_view> names;
  for (const Entry& entry : header.entries) {
    check<FormatError>(entry.name != kMetadata, "'", kMetadata,
                       "' is not a valid name for a tensor");
    check<FormatError>(names.insert(entry.name).second, "'", entry.name, "' appears twice");
  }
}

/// Returns the size of the header, padded so that the data are aligned.
std::size_t padded(std::size_t header) {
  return (header + kPrefix - 1) / kPrefix * kPrefix;
}

struct Parts {
  std::string_view header, data;
};

Parts split(std::string_view file) {
  const std::size_t start = safetensors_start(file, file.size());
  return {file.substr(kPrefix, start - kPrefix), file.substr(start)};
}

/// Returns the bytes that dtype and shape need. Checks the extents of empty tensors too.
std::uint64_t needed_bytes(const Entry& entry) {
  const bool single = entry.dtype == "F32";
  check<FormatError>(single || entry.dtype == "F64", entry.name, ": its dtype is ", entry.dtype,
                     "; F32 and F64 can be read");
  std::int64_t bytes = single ? sizeof(float) : sizeof(double);
  bool fits = true, empty = false;
  for (const std::uint64_t extent : entry.shape) {
    empty = empty || extent == 0;
    fits = fits && !__builtin_mul_overflow(bytes, std::max<std::uint64_t>(extent, 1), &bytes);
  }
  check<FormatError>(fits, entry.name, ": its shape needs more bytes than can be counted");
  return empty ? 0 : std::uint64_t(bytes);
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

template <class T>
AnyTensor copy(const Entry& entry, std::string_view data) {
  Tensor<T> tensor = empty<T>(Shape(entry.shape.begin(), entry.shape.end()));
  if (tensor.size() > 0)
    std::memcpy(tensor.data(), data.data() + entry.begin, entry.end - entry.begin);
  return tensor;
}

// Ignores the metadata of other writers, whose keys may have other meanings.
void check_digest(const SafetensorsHeader& header, std::string_view data) {
  if (!header.metadata.contains(kVersionKey)) return;
  const auto found = header.metadata.find(kDigest);
  const bool holds = found != header.metadata.end() && found->second == to_hex(sha256(data));
  check<FormatError>(holds,
                     "damaged, or changed by another program: the SHA-256 of the data is "
                     "not the one in the metadata");
}

/// Parses the header of a file with `data` bytes of data; sorts the tensors by offset.
SafetensorsHeader read_header(std::string_view json, std::uint64_t data) {
  SafetensorsHeader header = parse_header(json);
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const Entry& a, const Entry& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  check_cover(header.entries, data);
  return header;
}

}  // namespace

std::string to_safetensors(const WeightFile& weights) {
  SafetensorsHeader header;
  std::string data;
  for (const NamedTensor* named : sorted(weights.tensors)) {
    check_finite<NumericError>(named->name, named->tensor);
    header.entries.push_back(describe(*named));
    header.entries.back().begin = data.size();
    data += bytes_of(named->tensor);
    header.entries.back().end = data.size();
  }
  check_names(header);
  header.metadata = {{"format", "pt"},
                     {kVersionKey, kVersion},
                     {kConfig, weights.text},
                     {kDigest, to_hex(sha256(data))}};
  std::string json = print_header(header);
  json.resize(padded(json.size()), ' ');
  check<FormatError>(json.size() <= kLimit, "needs a header of ", json.size(),
                     " bytes; the limit is ", kLimit);
  const std::uint64_t size = json.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  file.reserve(kPrefix + json.size() + data.size());
  file += json;
  file += data;
  return file;
}

std::size_t safetensors_start(std::string_view first, std::uint64_t size) {
  check<FormatError>(first.size() > kPrefix && first[kPrefix] == '{',
                     "is not a safetensors file: there is no header at byte ", kPrefix);
  std::uint64_t header = 0;
  std::memcpy(&header, first.data(), sizeof header);
  check<FormatError>(header <= kLimit, "its header claims ", header, " bytes; the limit is ",
                     kLimit);
  check<FormatError>(header <= size - kPrefix, "ends inside its header: it has ", size,
                     " bytes, the header claims ", header);
  return kPrefix + header;
}

void check_safetensors(std::string_view start, std::uint64_t size) {
  read_header(start.substr(kPrefix), size - start.size());
}

WeightFile from_safetensors(std::string_view file) {
  const Parts parts = split(file);
  SafetensorsHeader header = read_header(parts.header, parts.data.size());
  check_digest(header, parts.data);

  WeightFile weights;
  for (const Entry& entry : header.entries) {
    weights.tensors.push_back({entry.name, entry.dtype == "F32" ? copy<float>(entry, parts.data)
                                                                : copy<double>(entry, parts.data)});
    check_finite<FormatError>(entry.name, weights.tensors.back().tensor);
  }
  if (header.metadata.contains(kVersionKey)) weights.text = header.metadata[kConfig];
  return weights;
}

}  // namespace xgrad
