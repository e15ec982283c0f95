#include <xgrad/train/inspect/attention_picture.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSide = 128;  // side of a head's picture, in pixels
constexpr std::size_t kGap = 4;
constexpr std::uint8_t kGrey = 160;

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
  const std::size_t square = std::max<std::size_t>(1, kSide / std::max(s[2], s[3]));
  const std::size_t step = square * s[3] + kGap;
  std::vector<Picture> heads;
  for (std::size_t h = 0; h < s[1]; ++h) heads.push_back(head_picture(map, h));
  Picture all{s[1] * step - kGap, square * s[2], {}};
  for (std::size_t i = 0; i < all.width * all.height; ++i) {
    const std::size_t row = i / all.width / square, x = i % all.width, column = x % step / square;
    for (std::size_t c = 0; c < 3; ++c) {
      all.rgb.push_back(column < s[3] ? heads[x / step].rgb[3 * (row * s[3] + column) + c] : kGrey);
    }
  }
  return all;
}

}  // namespace xgrad
