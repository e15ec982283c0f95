// IDX files, the format of MNIST and its relatives: a magic number, the extents, then the values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xgrad {

/// Bytes in rows, columns and so on.
struct IdxArray {
  std::vector<std::size_t> extents;  ///< sizes of its axes
  std::vector<std::uint8_t> values;  ///< row-major
};

/// Reads a file of bytes with so many extents, gzipped or plain. Throws DataError that names the
/// file and what is wrong: missing, not IDX, damaged, cut off, or longer than it says.
IdxArray read_idx(const std::string& path, std::size_t rank);

}  // namespace xgrad
