// S4.3: tasks about vectors of numbers: signals, each of which one of several known processes
// generated, marked values, and sets.
#include <xgrad/data/synthetic/processes.hpp>

namespace xgrad {

namespace {

// The signals of a task: sequences of frames, each of which is one vector.
struct Signals {
  explicit Signals(const Options& options)
      : processes(resonators(get_size(options, "processes"), get_double(options, "radius"))),
        lengths(options),
        frame(get_size(options, "frame")) {}

  // A task with one target for each signal. The caller sets the kind of target and the draws.
  Synthetic synthetic() const {
    return {.shape = {.input = InputKind::vectors,
                      .output = OutputKind::sequence,
                      .max_length = lengths.longest,
                      .features = frame},
            .is_continuous = true};
  }

  // Draws a process and whole frames of its signal, with `more` samples after them.
  std::pair<std::int32_t, std::vector<float>> draw(const Rng& rng, std::size_t more) const {
    const auto process = (rng / "process").below(processes.size(), 0);
    return {std::int32_t(process),
            signal(processes[process], rng / "signal", frame * lengths.draw(rng) + more)};
  }

  // E[(y - E[y])^2] of the value y after the signal: the noise of the process, plus the uncertainty
  // about which process it is: sum_k p_k (sigma_k^2 + (m_k - m)^2) with m = sum_k p_k m_k.
  double least_square(const std::vector<float>& x) const {
    const std::vector<double> p = posterior(processes, x);
    const double x1 = x.back(), x2 = x.size() > 1 ? x[x.size() - 2] : 0;
    double mean = 0, square = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double m = processes[k].expected(x1, x2), sigma = processes[k].sigma;
      mean += p[k] * m;
      square += p[k] * (sigma * sigma + m * m);
    }
    return square - mean * mean;
  }

  std::vector<Ar2> processes;
  Lengths lengths;    // in frames
  std::size_t frame;  // samples in a frame
};

TaskEntry signal_task(TaskEntry about, Describe describe) {
  about.options = {
      {"length", 8, "Frames in the longest signal.", 1, 65536},
      {"min_length", 0, "Frames in the shortest signal; 0: the same as length.", 0, 65536},
      {"frame", 8, "Samples in a frame; each frame is one vector.", 1, 4096},
      {"processes", 4, "Number of processes; one of them generates each signal.", 2, 64},
      {"radius", 0.8, "Radius of the poles of the processes; the nearer to 1, the purer the tone.",
       0.1, 0.99},
  };
  about.source = "the AR(2) process of Box and Jenkins 1970";
  about.best = kComputed;
  return synthetic_task(std::move(about), std::move(describe));
}

struct Sizes {
  std::size_t vectors, features;
  double spread;  // deviation of the centres; vectors have deviation 1 from their centre
};

Example draw_set(const Rng& rng, const Sizes& sizes) {
  const std::size_t odd = (rng / "odd").below(sizes.vectors, 0);
  const std::size_t features = sizes.features, count = sizes.vectors * features;
  const auto centre = (rng / "centre").normals(features), other = (rng / "other").normals(features);
  const auto noise = (rng / "noise").normals(count);
  Example example;
  example.features.reserve(count);
  for (std::size_t i = 0; i < sizes.vectors; ++i) {
    for (std::size_t k = 0; k < features; ++k) {
      const double mean = sizes.spread * (i == odd ? other : centre)[k];
      example.features.push_back(float(mean + noise[i * features + k]));
    }
    example.targets.push_back(i == odd);
  }
  return example;
}

// Returns the probability of each vector to be the outlier. The n others surround a centre that is
// normal with variance s^2. So for each coordinate, up to a constant,
//
//     log p(x | odd is i) = -1/2 (x_i^2 / (1 + s^2) + sum_others x^2
//                                 - s^2 (sum_others x)^2 / (1 + n s^2))
std::vector<double> posterior(const std::vector<float>& x, const Sizes& sizes) {
  const double variance = sizes.spread * sizes.spread, n = double(sizes.vectors - 1);
  std::vector<double> score(sizes.vectors);
  for (std::size_t k = 0; k < sizes.features; ++k) {
    double sum = 0, squares = 0;
    for (std::size_t i = k; i < x.size(); i += sizes.features) {
      sum += double(x[i]);
      squares += double(x[i]) * double(x[i]);
    }
    for (std::size_t i = 0; i < sizes.vectors; ++i) {
      const double own = double(x[i * sizes.features + k]), others = sum - own;
      score[i] -= (own * own / (1 + variance) + squares - own * own -
                   variance * others * others / (1 + n * variance)) /
                  2;
    }
  }
  return from_logarithms(std::move(score));
}

}  // namespace

// A vector is a standard normal value, followed by 1 if it is marked, else 0.
static Example draw_marked(const Rng& rng, std::size_t length, double marks, double noise) {
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

extern const std::vector<TaskEntry> kSignalTasks = {
    signal_task(
        {.name = "ar2",
         .summary = "Say which of several known AR(2) processes generated a signal, given in "
                    "frames of samples.",
         .needs =
             "No positions and one layer: products of adjacent samples, averaged over all frames.",
         .theory = "solvable: the likelihoods are sums of products of adjacent samples"},
        [](const Options& options, Synthetic& task) {
          const Signals signals(options);
          task = signals.synthetic();
          task.shape.classes = signals.processes.size();
          task.draw = [signals](const Rng& rng) {
            auto [process, samples] = signals.draw(rng, 0);
            return Example{.features = std::move(samples), .targets = {process}};
          };
          task.best = [signals](const Example& input) {
            const std::vector<double> p = posterior(signals.processes, input.features);
            Synthetic::Best best;
            add_best_guess(p.data(), p.size(), best);
            return best;
          };
        }),
    signal_task({.name = "next_value",
                 .summary = "Predict the next value of a signal that one of several known AR(2) "
                            "processes generated.",
                 .needs = "Positions and one layer, which reads the last two samples, and "
                          "recognises the process from all samples.",
                 .theory = "needs positions: the best guess is linear in the last two samples once "
                           "the process is known"},
                [](const Options& options, Synthetic& task) {
                  const Signals signals(options);
                  task = signals.synthetic();
                  task.shape.classes = 1;
                  task.shape.target = TargetKind::numbers;
                  task.draw = [signals](const Rng& rng) {
                    Example example{.features = signals.draw(rng, 1).second};
                    example.values = {example.features.back()};
                    example.features.pop_back();
                    return example;
                  };
                  task.best = [signals](const Example& input) {
                    return Synthetic::Best{.loss = signals.least_square(input.features),
                                           .targets = 1};
                  };
                }),
    synthetic_task(
        {.name = "mean_of_marked",
         .summary =
             "Predict the mean of the values of the marked vectors; the target has added noise.",
         .options = {{"length", 16, "Vectors in the longest sequence.", 1, 65536},
                     {"min_length", 0, "Vectors in the shortest sequence; 0: the same as length.",
                      0, 65536},
                     {"marks", 0.25, "Probability that a vector is marked; at least one always is.",
                      0.01, 1.0},
                     {"noise", 0.1, "Standard deviation of the noise added to the mean.", 0.0,
                      100.0}},
         .needs = "No positions, and one layer with one head that attends only to marked vectors.",
         .theory = "solvable: one head that attends to marked vectors only",
         .source = "after the adding problem of Hochreiter and Schmidhuber 1997",
         .best = kComputed},
        [](const Options& options, Synthetic& task) {
          const double marks = get_double(options, "marks"), noise = get_double(options, "noise");
          task.is_continuous = true;
          task.shape = {.input = InputKind::vectors,
                        .output = OutputKind::sequence,
                        .classes = 1,
                        .features = 2,
                        .target = TargetKind::numbers};
          draw_lengths(task, Lengths(options), [=](const Rng& rng, std::size_t length) {
            return draw_marked(rng, length, marks, noise);
          });
          task.best = [=](const Example&) {
            return Synthetic::Best{.loss = noise * noise, .targets = 1};
          };
        }),
    // A set has no order. A model without positions suits it: its answer for a vector does not
    // depend on the vector's position.
    synthetic_task(
        {.name = "anomaly",
         .summary = "Find the outlier in a set of vectors: the others are drawn around one centre, "
                    "the outlier around another.",
         .options = {{"vectors", 10, "Vectors in a set, the outlier included.", 3, 4096},
                     {"features", 4, "Numbers in a vector.", 1, 4096},
                     {"spread", 2.0,
                      "Standard deviation of the centres; vectors have standard deviation 1 around "
                      "their centre.",
                      above(0), 1000}},
         .needs = "No positions and one layer, which compares each vector with all others.",
         .theory = "solvable: one layer without positions compares each vector with the mean of "
                   "the others",
         .source = "the set anomaly detection of Lee et al. 2019 (Set Transformer), "
                   "arXiv:1810.00825, on Gaussian vectors",
         .best = kComputed},
        [](const Options& options, Synthetic& task) {
          const Sizes sizes{get_size(options, "vectors"), get_size(options, "features"),
                            get_double(options, "spread")};
          task.shape = {.input = InputKind::vectors,
                        .max_length = sizes.vectors,
                        .class_names = {"usual", "odd"},
                        .features = sizes.features};
          task.draw = [sizes](const Rng& rng) { return draw_set(rng, sizes); };
          task.best = [sizes](const Example& input) {
            Synthetic::Best sum;
            for (double p : posterior(input.features, sizes)) {
              const double either[] = {p, 1 - p};
              add_best_guess(either, 2, sum);
            }
            return sum;
          };
        })};

}  // namespace xgrad
