#include <xgrad/train/inspect/attention_picture.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSide = 128;  // side of a head's picture, in pixels
constexpr std::size_t kGap = 4;
constexpr std::uint8_t kGrey = 160;

// Draws each pixel of `from` as a square; the top left corner is at (x, 0).
void paste(const Picture& from, std::size_t square, std::size_t x, Picture& to) {
  for (std::size_t i = 0; i < square * from.height; ++i) {
    for (std::size_t j = 0; j < square * from.width; ++j) {
      const std::size_t source = i / square * from.width + j / square;
      std::copy_n(from.rgb.data() + 3 * source, 3, to.rgb.data() + 3 * (i * to.width + x + j));
    }
  }
}

}  // namespace

std::size_t attended_tokens(const Example& example, const TaskShape& shape, std::size_t patch) {
  const std::size_t tokens = shape.input == InputKind::image
                                 ? (shape.height / patch) * (shape.width / patch)
                                 : length_of(example, shape);
  return std::max(tokens, example.targets.size());
}

Picture head_picture(const AttentionMap& map, std::size_t head) {
  const auto& s = map.probabilities.shape();
  const double* p = map.probabilities.data() + head * s[2] * s[3];
  const double largest = std::max(1e-12, *std::max_element(p, p + s[2] * s[3]));
  Picture picture{s[3], s[2], {}};
  for (std::size_t i = 0; i < s[2] * s[3]; ++i) {
    const double a = std::sqrt(std::clamp(p[i] / largest, 0.0, 1.0));
    for (const double end : {8.0, 48.0, 107.0}) {
      picture.rgb.push_back(std::uint8_t(247 + a * (end - 247)));
    }
  }
  return picture;
}

Picture heads_picture(const AttentionMap& map) {
  const auto& s = map.probabilities.shape();
  const std::size_t heads = s[1], square = std::max<std::size_t>(1, kSide / std::max(s[2], s[3]));
  const std::size_t step = square * s[3] + kGap;
  Picture all{heads * step - kGap, square * s[2], {}};
  all.rgb.assign(3 * all.width * all.height, kGrey);
  for (std::size_t h = 0; h < heads; ++h) paste(head_picture(map, h), square, h * step, all);
  return all;
}

}  // namespace xgrad
