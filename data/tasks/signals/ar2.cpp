#include <xgrad/data/synthetic/autoregression.hpp>
#include <xgrad/data/synthetic/chain.hpp>

namespace xgrad {

TaskEntry ar2_task() {
  const auto describe = [](const Options& options) {
    const SignalTask about(options);
    Synthetic task = about.synthetic();
    task.shape.classes = about.processes.size();
    task.draw = [about](const Rng& rng) {
      const auto process = (rng / "process").below(about.processes.size(), 0);
      return Example{
          .features = signal(about.processes[process], rng / "signal", about.draw_length(rng)),
          .targets = {std::int32_t(process)}};
    };
    task.best = [about](const Example& input) {
      const std::vector<double> p = posterior(about.processes, input.features);
      Synthetic::Best best;
      add_best_guess(p.data(), p.size(), best);
      return best;
    };
    return task;
  };
  return synthetic_task(
      {.name = "ar2",
       .summary = "Say which of several known AR(2) processes generated a signal, given in frames "
                  "of samples.",
       .options = signal_options(),
       .needs =
           "No positions and one layer: products of adjacent samples, averaged over all frames.",
       .theory = "solvable: the likelihoods are sums of products of adjacent samples",
       .source = "the AR(2) process of Box and Jenkins 1970",
       .best = kComputed},
      describe);
}

}  // namespace xgrad
