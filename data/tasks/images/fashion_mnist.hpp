// Parts of the task fashion_mnist. Reads IDX files, the format of MNIST and its relatives: a magic
// number, the extents, then the values. Moves training images at random, which keeps their class.
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
/// file and the problem: missing, not IDX, damaged, truncated, or longer than its header says.
IdxArray read_idx(const std::string& path, std::size_t rank);

/// A translation of an image and an optional mirroring.
struct Move {
  int down = 0;           ///< shift down in pixels
  int right = 0;          ///< shift right in pixels
  bool mirrored = false;  ///< whether left and right are swapped
  /// Compares all members.
  friend bool operator==(const Move&, const Move&) = default;
};

/// Draws a shift of up to `shift` pixels in each direction, mirrored with probability 1/2: a
/// function of (seed, epoch, index) alone.
Move random_move(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index, int shift);

/// Moves an image (height, width) and writes it to `result`, as the floats table[pixel]. Where the
/// moved image leaves a gap, writes table[0]. `table` has a float for each value of a byte.
void move_image(const std::uint8_t* image, int height, int width, const Move& move,
                const float* table, float* result);

}  // namespace xgrad
