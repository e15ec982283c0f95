#include <xgrad/train/inspect/overfit.hpp>

#include <limits>

#include <xgrad/train/config/precision.hpp>

namespace xgrad {

Overfit overfit_batch(Config config, const std::function<void(const StepReport&)>& watch) {
  constexpr double kMemorised = 1e-3;        // a batch counts as memorised below this loss
  constexpr std::uint64_t kPatience = 2000;  // a loss still falls if by a tenth in so many steps
  config.model.dropout = config.model.attention_dropout = config.model.stochastic_depth = 0;
  config.train.label_smoothing = config.optim.weight_decay = 0;
  for (ParameterGroup& group : config.optim.groups) group.weight_decay.reset();
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    Overfit result;
    for (const Batch& batch : trainer.hold_batch()) result.examples += batch.size;
    double mark = std::numeric_limits<double>::infinity();
    std::uint64_t since = 0;
    do {
      result.last = trainer.train_step(config.optim.lr);
      watch(result.last);
      result.memorised = result.last.loss < kMemorised;
      if (result.last.loss < 0.9 * mark) {
        mark = result.last.loss;
        since = result.last.step;
      }
    } while (!result.memorised && result.last.step < since + kPatience);
    return result;
  });
}

}  // namespace xgrad
