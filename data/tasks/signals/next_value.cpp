#include <xgrad/data/synthetic/autoregression.hpp>

namespace xgrad {

// E[(y - E[y])^2] of the value y after the signal: the noise of the process, plus the uncertainty
// about which process it is: sum_k p_k (sigma_k^2 + (m_k - m)^2) with m = sum_k p_k m_k.
static double least_square(const SignalTask& about, const std::vector<float>& x) {
  const std::vector<double> p = posterior(about.processes, x);
  const double x1 = x.back(), x2 = x.size() > 1 ? x[x.size() - 2] : 0;
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double m = about.processes[k].expected(x1, x2), sigma = about.processes[k].sigma;
    mean += p[k] * m;
    square += p[k] * (sigma * sigma + m * m);
  }
  return square - mean * mean;
}

TaskEntry next_value_task() {
  const auto describe = [](const Options& options) {
    const SignalTask about(options);
    Synthetic task = about.synthetic();
    task.shape.classes = 1;
    task.shape.target = TargetKind::numbers;
    task.draw = [about](const Rng& rng) {
      const auto process = (rng / "process").below(about.processes.size(), 0);
      Example example;
      example.features =
          signal(about.processes[process], rng / "signal", about.draw_length(rng) + 1);
      example.values = {example.features.back()};
      example.features.pop_back();
      return example;
    };
    task.best = [about](const Example& input) {
      return Synthetic::Best{.loss = least_square(about, input.features), .targets = 1};
    };
    return task;
  };
  return synthetic_task({.name = "next_value",
                         .summary = "Predict the next value of a signal that one of several known "
                                    "AR(2) processes generated.",
                         .options = signal_options(),
                         .needs = "Positions and one layer, to read the last two samples, and from "
                                  "all samples which process it is.",
                         .theory = "needs positions: the best guess is linear in the last two "
                                   "samples once the process is known",
                         .source = "the AR(2) process of Box and Jenkins 1970",
                         .best = kComputed},
                        describe);
}

}  // namespace xgrad
