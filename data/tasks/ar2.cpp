#include <xgrad/data/autoregression.hpp>
#include <xgrad/data/chain.hpp>
#include <xgrad/data/drawn_vectors.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry ar2_task() {
  return drawn_vectors_task(
      "ar2", "Which of several known processes made a signal, given in frames of samples.",
      "products of samples that stand side by side, averaged over all frames", signal_options(),
      [](const Options& options) {
        const SignalTask about(options);
        DrawnVectors task;
        task.shape = {.input = InputKind::vectors,
                      .output = OutputKind::sequence,
                      .max_length = about.longest,
                      .classes = about.processes.size(),
                      .features = about.frame};
        task.draw = [about](const Rng& rng) {
          const auto process = (rng / "process").below(about.processes.size(), 0);
          return Example{
              .features = signal(about.processes[process], rng / "signal", about.draw_length(rng)),
              .targets = {std::int32_t(process)}};
        };
        task.best = [about](const std::vector<float>& features) {
          const std::vector<double> p = posterior(about.processes, features);
          Synthetic::Best best;
          add_best_guess(p.data(), p.size(), best);
          return best;
        };
        return task;
      });
}

}  // namespace xgrad
