// Changes to a training image that keep its class.
#pragma once

#include <cstdint>

namespace xgrad {

/// Where an image is moved to, and whether it is mirrored left to right.
struct Move {
  int down = 0;           ///< pixels
  int right = 0;          ///< pixels
  bool mirrored = false;  ///< left to right
  /// Whether they are equal.
  friend bool operator==(const Move&, const Move&) = default;
};

/// A move by up to `shift` pixels each way, mirrored half of the time: a function of (seed, epoch,
/// index) alone.
Move random_move(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index, int shift);

/// Writes table[pixel] for each pixel of the moved image (height, width); where nothing was moved
/// to, table[0].
void move_image(const std::uint8_t* image, int height, int width, const Move& move,
                const float* table, float* result);

}  // namespace xgrad
