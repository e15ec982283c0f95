#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

// Ids: the word "not", then three groups of equal size.
constexpr std::int32_t kNot = 0, kGroup = 8;
enum Group { positive = 0, negative = 1, plain = 2 };

std::int32_t word(Group group, std::int32_t index) {
  return 1 + group * kGroup + index;
}

std::int32_t polarity(std::int32_t id) {
  if (id >= word(positive, 0) && id < word(negative, 0)) return 1;
  return id >= word(negative, 0) && id < word(plain, 0) ? -1 : 0;
}

// Class of the sum of polarities, each reversed if the word before it is "not".
Tokens solve(const Tokens& ids) {
  std::int32_t score = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_negated = i > 0 && ids[i - 1] == kNot;
    score += is_negated ? -polarity(ids[i]) : polarity(ids[i]);
  }
  return {score < 0 ? 0 : score == 0 ? 1 : 2};
}

// Out of five words, one is "not", one positive, one negative, and two are plain on average.
Example draw(const Rng& rng, std::size_t length) {
  const Tokens kinds = random_tokens(rng / "kind", length, 5);
  const Tokens indices = random_tokens(rng / "word", length, kGroup);
  constexpr Group kGroups[] = {positive, negative, plain, plain};
  Example example;
  for (std::size_t i = 0; i < length; ++i) {
    const bool is_not = kinds[i] == 4;
    example.ids.push_back(is_not ? kNot : word(kGroups[kinds[i]], indices[i]));
  }
  return example;
}

Synthetic describe(const Options& options) {
  Synthetic task;
  task.shape.output = OutputKind::sequence;
  task.shape.class_names = {"negative", "neutral", "positive"};
  task.shape.token_names = {"not",   "good",   "great", "lovely", "clever", "bright", "warm",
                            "funny", "moving", "bad",   "poor",   "awful",  "dull",   "silly",
                            "weak",  "boring", "flat",  "the",    "movie",  "plot",   "is",
                            "and",   "scene",  "actor", "very"};
  draw_lengths(task, Lengths(options), draw);
  task.solve = solve;
  return task;
}

}  // namespace

TaskEntry negation_task() {
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
