#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Ids: the word "not", then eight positive, eight negative and eight plain words.
static constexpr std::int32_t kNot = 0, kGroup = 8;

// Class of the sum of polarities, each reversed if the word before it is "not".
static Tokens sentiment(const Tokens& ids) {
  constexpr std::int32_t kPolarity[] = {1, -1, 0};  // of each group
  std::int32_t score = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNot) continue;
    const bool is_negated = i > 0 && ids[i - 1] == kNot;
    score += kPolarity[(ids[i] - 1) / kGroup] * (is_negated ? -1 : 1);
  }
  return {score < 0 ? 0 : score == 0 ? 1 : 2};
}

// Out of five words, one is "not", one positive, one negative, and two are plain on average.
static Example draw_words(const Rng& rng, std::size_t length) {
  const Tokens kinds = random_tokens(rng / "kind", length, 5);
  const Tokens indices = random_tokens(rng / "word", length, kGroup);
  Example example;
  for (std::size_t i = 0; i < length; ++i) {
    const std::int32_t group = std::min(kinds[i], 2);
    example.ids.push_back(kinds[i] == 4 ? kNot : 1 + group * kGroup + indices[i]);
  }
  return example;
}

TaskEntry negation_task() {
  const auto describe = [](const Options& options) {
    Synthetic task;
    task.shape.output = OutputKind::sequence;
    task.shape.class_names = {"negative", "neutral", "positive"};
    task.shape.token_names = {"not",   "good",   "great", "lovely", "clever", "bright", "warm",
                              "funny", "moving", "bad",   "poor",   "awful",  "dull",   "silly",
                              "weak",  "boring", "flat",  "the",    "movie",  "plot",   "is",
                              "and",   "scene",  "actor", "very"};
    draw_lengths(task, Lengths(options), draw_words);
    task.solve = sentiment;
    return task;
  };
  return synthetic_task(
      {.name = "negation",
       .summary = "Weigh good words against bad ones, where \"not\" reverses the next word.",
       .options = length_options(10),
       .needs = "Positions and two layers: the first finds negated words, the second sums up.",
       .theory =
           "needs positions and depth: the first layer finds negated words, the second sums up",
       .source = "made for xgrad"},
      describe);
}

}  // namespace xgrad
