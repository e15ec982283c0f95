#include <xgrad/data/tasks/images/augment.hpp>

#include <algorithm>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

Move random_move(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index, int shift) {
  const auto words =
      (Rng(seed) / "augment" / epoch).words(std::uint32_t(index), std::uint32_t(index >> 32));
  const auto offset = [&](std::uint32_t word) {  // uniform in [-shift, shift]
    return int(word * std::uint64_t(2 * shift + 1) >> 32) - shift;
  };
  return {offset(words[0]), offset(words[1]), bool(words[2] & 1)};
}

void move_image(const std::uint8_t* image, int height, int width, const Move& move,
                const float* table, float* result) {
  const int first = std::clamp(move.right, 0, width);
  const int last = std::clamp(width + move.right, 0, width);
  for (int y = 0; y < height; ++y, result += width) {
    const int from = y - move.down;
    if (from < 0 || from >= height) {
      std::fill_n(result, width, table[0]);
      continue;
    }
    std::fill(result, result + first, table[0]);
    std::fill(result + last, result + width, table[0]);
    const std::uint8_t* row = image + from * width;
    for (int x = first; x < last; ++x) {
      const int at = x - move.right;
      result[x] = table[row[move.mirrored ? width - 1 - at : at]];
    }
  }
}

}  // namespace xgrad
