// Zip archives in memory, by libzip; .npz files are zip archives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

struct ZipMember {
  std::string name;
  std::string bytes;
};

struct ZipArchive {
  std::vector<ZipMember> members;
  std::string comment;  ///< at most 65535 bytes
};

/// Writes the members in order, uncompressed, dated 1980-01-01. Identical archives give identical
/// bytes. Throws FormatError on a repeated name or a comment that is too long.
std::string to_zip(const ZipArchive& archive);

/// Reads an archive. Throws FormatError that names the member when a member is damaged, encrypted,
/// compressed by a method other than deflate, or has a repeated name. Memory grows with the bytes
/// actually decompressed, never with a size in a header.
ZipArchive from_zip(std::string_view bytes);

}  // namespace xgrad
