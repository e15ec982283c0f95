// Archives in memory, by libzip: what .npz files are made of.
#pragma once

#include <cstddef>
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

/// The members in their order, uncompressed, dated 1980-01-01: identical archives give identical
/// bytes. Throws CheckpointError on a name that comes twice or a comment that is too long.
std::string to_zip(const ZipArchive& archive);

/// Bytes at the end of a file that hold the end record of an archive, whatever its comment.
constexpr std::size_t kZipEnd = 22 + 65535;
/// Throws CheckpointError unless a file with these bytes at either end may be an archive: kZipEnd
/// bytes at its end, or all where it is shorter. What this refuses need not be read.
void check_zip_ends(std::string_view start, std::string_view end);

/// Throws CheckpointError that names the member on whatever is damaged, encrypted, or compressed by
/// another method than deflate, and on a name that comes twice. Memory follows the bytes that are
/// there, never a size that a header claims.
ZipArchive from_zip(std::string_view bytes);

}  // namespace xgrad
