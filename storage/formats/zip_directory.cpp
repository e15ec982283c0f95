// Terms in the comments are those of PKWARE's APPNOTE.TXT, section 4.3.
#include <xgrad/storage/formats/zip_directory.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/little_endian.hpp>

namespace xgrad {

namespace {

// Size of each record without its name, extra field and comment.
constexpr std::size_t kLocalHeader = 30, kEntry = 46, kEnd = 22, kLocator = 20, kEnd64 = 56;
constexpr std::size_t kMostDirectory = std::size_t(16) << 20;
// The size is in the extra field, for members of 2 GiB or more.
constexpr std::uint64_t kElsewhere = 0xffffffff;
// Allowance per member for an extra field in its local header and a data descriptor.
constexpr std::uint64_t kMostExtra = std::uint64_t(1) << 17;

struct Directory {
  std::uint64_t entries, size, offset;
  std::uint64_t end;  ///< offset of the end record with these values
};

template <class... Parts>
void require(bool ok, const Parts&... parts) {
  check<FormatError>(ok, "is not a zip archive: ", parts...);
}

/// Reads the zip64 end of central directory record, if its locator is directly before the end of
/// central directory record at `end`.
std::optional<Directory> find_zip64(const InputFile& file, std::uint64_t end) {
  if (end < kLocator) return std::nullopt;
  const std::string locator = file.read(end - kLocator, kLocator);
  if (!locator.starts_with("PK\6\7")) return std::nullopt;
  const std::uint64_t at = little_endian(locator, 8, 8);
  require(at <= end && end - at >= kLocator + kEnd64, "its zip64 end record is at ", at);
  const std::string record = file.read(at, kEnd64);
  require(record.starts_with("PK\6\6"), "it has no zip64 end record at ", at);
  return Directory{little_endian(record, 32, 8), little_endian(record, 40, 8),
                   little_endian(record, 48, 8), at};
}

/// Reads the end of central directory record: the last one whose comment ends with the file.
Directory find_directory(const InputFile& file) {
  const auto size = std::size_t(std::min<std::uint64_t>(file.size(), kEnd + 0xffff));
  const std::string tail = file.read(file.size() - size, size);
  for (std::size_t at = tail.rfind("PK\5\6"); at != tail.npos;
       at = at == 0 ? tail.npos : tail.rfind("PK\5\6", at - 1)) {
    if (size - at < kEnd || at + kEnd + little_endian(tail, at + 20, 2) != size) continue;
    const std::uint64_t end = file.size() - size + at;
    return find_zip64(file, end).value_or(Directory{little_endian(tail, at + 10, 2),
                                                    little_endian(tail, at + 12, 4),
                                                    little_endian(tail, at + 16, 4), end});
  }
  detail::fail<FormatError>("is not a zip archive: it has no end of central directory record");
}

}  // namespace

std::uint64_t zip_size(const InputFile& file) {
  require(file.size() >= 2 && file.read(0, 2) == "PK", "it does not begin with PK");
  const Directory directory = find_directory(file);
  require(directory.offset <= directory.end && directory.end - directory.offset == directory.size,
          "its directory of ", directory.size, " bytes at ", directory.offset,
          " does not end at its end record");
  require(directory.size <= kMostDirectory, "its directory has ", directory.size,
          " bytes; the limit is ", kMostDirectory);
  const std::string bytes = file.read(directory.offset, directory.size);
  std::string_view rest = bytes;
  std::uint64_t stored = 0, most = 0;  // bytes of the members: at least, and at most
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    require(rest.size() >= kEntry && rest.starts_with("PK\1\2"), "its directory is damaged");
    const std::uint64_t size = little_endian(rest, 20, 4), name = little_endian(rest, 28, 2);
    const std::uint64_t next =
        kEntry + name + little_endian(rest, 30, 2) + little_endian(rest, 32, 2);
    require(next <= rest.size(), "its directory is damaged");
    stored += kLocalHeader + name + (size == kElsewhere ? 0 : size);
    most += kLocalHeader + name + (size == kElsewhere ? file.size() : size) + kMostExtra;
    rest.remove_prefix(next);
  }
  require(rest.empty(), "its directory is damaged");
  require(stored <= directory.offset && directory.offset <= most, "its members take ", stored,
          " of the ", directory.offset, " bytes before its directory");
  return file.size();
}

}  // namespace xgrad
