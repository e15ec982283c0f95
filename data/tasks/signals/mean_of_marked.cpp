#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// A vector is a standard normal value, followed by 1 if it is marked, else 0.
static Example draw(const Rng& rng, std::size_t length, double marks, double noise) {
  Example example;
  example.features.reserve(2 * length);
  const std::size_t first = (rng / "first").below(length, 0);
  const auto values = (rng / "value").normals(length), marks_of = (rng / "mark").uniforms(length);
  double sum = 0, count = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const auto value = float(values[n]);
    const bool marked = n == first || marks_of[n] < marks;
    example.features.insert(example.features.end(), {value, marked ? 1.0f : 0.0f});
    if (!marked) continue;
    sum += value;
    count += 1;
  }
  example.values = {float(sum / count + noise * (rng / "noise").normal(0))};
  return example;
}

TaskEntry mean_of_marked_task() {
  const auto describe = [](const Options& options) {
    const double marks = get_double(options, "marks"), noise = get_double(options, "noise");
    Synthetic task;
    task.is_continuous = true;
    task.shape = {.input = InputKind::vectors,
                  .output = OutputKind::sequence,
                  .classes = 1,
                  .features = 2,
                  .target = TargetKind::numbers};
    draw_lengths(task, Lengths(options), [=](const Rng& rng, std::size_t length) {
      return draw(rng, length, marks, noise);
    });
    task.best = [=](const Example&) {
      return Synthetic::Best{.loss = noise * noise, .targets = 1};
    };
    return task;
  };
  return synthetic_task(
      {.name = "mean_of_marked",
       .summary =
           "Predict the mean of the values of the marked vectors; the target has added noise.",
       .options = {{"length", 16, "Vectors in the longest sequence.", 1, 65536},
                   {"min_length", 0, "Vectors in the shortest sequence; 0: as length.", 0, 65536},
                   {"marks", 0.25, "Probability that a vector is marked; one always is.", 0.01,
                    1.0},
                   {"noise", 0.1, "Standard deviation of the noise added to the mean.", 0.0,
                    100.0}},
       .needs = "No positions, and one layer with one head that attends only to marked vectors.",
       .theory = "solvable: one head that attends to marked vectors only",
       .source = "after the adding problem of Hochreiter and Schmidhuber 1997",
       .best = kComputed},
      describe);
}

}  // namespace xgrad
