// Reads IDX files, the format of MNIST and its relatives: a magic number, the extents, then the
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xgrad {

/// An array of bytes.
struct IdxArray {
  std::vector<std::size_t> extents;  ///< sizes of its axes
  std::vector<std::uint8_t> values;  ///< all values, row-major
};

/// Reads an IDX file of bytes with `rank` axes, gzipped or plain. Throws DataError that names the
/// file and says what is wrong: missing, not IDX, damaged, truncated, or longer than its header
/// says.
IdxArray read_idx(const std::string& path, std::size_t rank);

}  // namespace xgrad
