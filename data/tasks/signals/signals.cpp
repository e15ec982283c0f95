// S4.3: tasks about sequences of numbers: signals, each of which one of several known processes
// generated, and marked values.
#include <xgrad/data/synthetic/autoregression.hpp>
#include <xgrad/data/synthetic/chain.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

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
      {"min_length", 0, "Frames in the shortest signal; 0: as length.", 0, 65536},
      {"frame", 8, "Samples in a frame; each frame is one vector.", 1, 4096},
      {"processes", 4, "Number of processes; one of them generates each signal.", 2, 64},
      {"radius", 0.8, "Radius of the poles of the processes; nearer to 1, tones are purer.", 0.1,
       0.99},
  };
  about.source = "the AR(2) process of Box and Jenkins 1970";
  about.best = kComputed;
  return synthetic_task(std::move(about), std::move(describe));
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
        [](const Options& options) {
          const Signals signals(options);
          Synthetic task = signals.synthetic();
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
          return task;
        }),
    signal_task({.name = "next_value",
                 .summary = "Predict the next value of a signal that one of several known AR(2) "
                            "processes generated.",
                 .needs = "Positions and one layer, to read the last two samples, and from all "
                          "samples which process it is.",
                 .theory = "needs positions: the best guess is linear in the last two samples once "
                           "the process is known"},
                [](const Options& options) {
                  const Signals signals(options);
                  Synthetic task = signals.synthetic();
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
                  return task;
                }),
    synthetic_task(
        {.name = "mean_of_marked",
         .summary =
             "Predict the mean of the values of the marked vectors; the target has added noise.",
         .options =
             {{"length", 16, "Vectors in the longest sequence.", 1, 65536},
              {"min_length", 0, "Vectors in the shortest sequence; 0: as length.", 0, 65536},
              {"marks", 0.25, "Probability that a vector is marked; one always is.", 0.01, 1.0},
              {"noise", 0.1, "Standard deviation of the noise added to the mean.", 0.0, 100.0}},
         .needs = "No positions, and one layer with one head that attends only to marked vectors.",
         .theory = "solvable: one head that attends to marked vectors only",
         .source = "after the adding problem of Hochreiter and Schmidhuber 1997",
         .best = kComputed},
        [](const Options& options) {
          const double marks = get_double(options, "marks"), noise = get_double(options, "noise");
          Synthetic task;
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
          return task;
        })};

}  // namespace xgrad
