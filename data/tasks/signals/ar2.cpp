#include <xgrad/data/synthetic/autoregression.hpp>
#include <xgrad/data/synthetic/chain.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry ar2_task() {
  return synthetic_task(
      "ar2",
      "Say which of several known AR(2) processes generated a signal, given in frames of samples.",
      "No positions and one layer: products of adjacent samples, averaged over all frames.",
      signal_options(), [](const Options& options) {
        const SignalTask about(options);
        Synthetic task;
        task.is_continuous = true;
        task.shape = about.shape();
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
      });
}

}  // namespace xgrad
