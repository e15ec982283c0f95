#include <xgrad/autograd/random.hpp>
#include <xgrad/data/tasks/images/fashion_mnist.hpp>

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
  for (int y = 0; y < height; ++y) {
    const int row = y - move.down;
    for (int x = 0; x < width; ++x) {
      const int column = x - move.right, at = move.mirrored ? width - 1 - column : column;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      *result++ = table[inside ? image[row * width + at] : 0];
    }
  }
}

}  // namespace xgrad
