#include <iterator>

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

constexpr std::size_t kSide = 5;
// The pixels of each shape, row by row; # is bright: a square, a plus, a cross and a diamond.
constexpr const char* kShapes[] = {
    "######...##...##...######",
    "..#....#..#####..#....#..",
    "#...#.#.#...#...#.#.#...#",
    "..#...#.#.#...#.#.#...#..",
};

// Draws an image. Dark pixels are uniform in [0, 0.4), bright ones in [0.6, 1).
static Example draw(const Rng& rng, std::size_t size) {
  const Rng place = rng / "place";
  const auto pixels = (rng / "pixels").uniforms(size * size);
  const std::size_t shape = place.below(std::size(kShapes), 0);
  const std::size_t top = place.below(size - kSide + 1, 1), left = place.below(size - kSide + 1, 2);
  Example example;
  example.features.reserve(size * size);
  for (const double pixel : pixels) example.features.push_back(float(0.4 * pixel));
  for (std::size_t i = 0; i < kSide * kSide; ++i) {
    if (kShapes[shape][i] != '#') continue;
    const std::size_t at = (top + i / kSide) * size + left + i % kSide;
    example.features[at] = float(0.4 * pixels[at] + 0.6);
  }
  example.targets = {std::int32_t(shape)};
  return example;
}

TaskEntry shapes_task() {
  return synthetic_task(
      {.name = "shapes",
       .summary = "Name the bright shape in a small image with noise.",
       .options = {{"size", 12, "Side of the image, in pixels.", std::int64_t(kSide), 256}},
       .needs = "Patches and one layer; positions are not needed.",
       .theory = "solvable: one layer over patches",
       .source = "made for xgrad; patches as in Dosovitskiy et al. 2021, arXiv:2010.11929"},
      [](const Options& options, Synthetic& task) {
        const auto size = get_size(options, "size");
        task.shape = {.input = InputKind::image,
                      .output = OutputKind::sequence,
                      .height = size,
                      .width = size,
                      .channels = 1,
                      .class_names = {"square", "plus", "cross", "diamond"}};
        task.draw = [size](const Rng& rng) { return draw(rng, size); };
      });
}

}  // namespace xgrad
