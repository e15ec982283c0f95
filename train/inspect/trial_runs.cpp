#include <xgrad/train/inspect/trial_runs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/portable_math.hpp>
#include <xgrad/train/config/precision.hpp>

namespace xgrad {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMemory = 0.9;          // decay of the moving average that smooths losses
constexpr double kDiverged = 4;          // a loss above this multiple of the lowest has diverged
constexpr std::size_t kLeastTried = 10;  // a curve needs more learning rates than this

}  // namespace

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
    double mark = kInfinity;
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

std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps) {
  config.train.spike = 0;                 // large gradients are expected here
  config.train.dead_gradients_every = 0;  // and rates at which units die
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    std::vector<TriedRate> tried;
    double mean = 0, lowest = kInfinity;
    for (std::size_t i = 0; i < steps; ++i) {
      const double lr = from * portable::pow(to / from, double(i) / double(steps - 1));
      double loss = 0;
      try {
        loss = trainer.train_step(lr).loss;
      } catch (const NumericError&) {
        check<NumericError>(tried.size() > kLeastTried, "lr-find: the loss is not finite after ",
                            tried.size(), " steps; start lower with --from");
        break;
      }
      mean = kMemory * mean + (1 - kMemory) * loss;
      const double smooth = mean / (1 - portable::pow(kMemory, double(i + 1)));
      tried.push_back({lr, smooth});
      lowest = std::min(lowest, smooth);
      if (smooth > kDiverged * lowest) break;
    }
    check<Error>(tried.size() > kLeastTried, "lr-find: the loss diverged after ", tried.size(),
                 " steps; start lower with --from");
    return tried;
  });
}

double steepest(const std::vector<TriedRate>& tried) {
  const std::size_t span = std::max<std::size_t>(1, tried.size() / 10);
  std::pair<double, double> best = {0,
                                    tried.front().lr};  // the fall of the loss, the learning rate
  for (std::size_t i = span; i + span < tried.size(); ++i) {
    const double fall = tried[i - span].loss - tried[i + span].loss;
    if (fall > best.first) best = {fall, tried[i].lr};
  }
  return best.second;
}

std::string to_text(const std::vector<TriedRate>& tried) {
  constexpr std::size_t rows = 14, columns = 64;
  const auto [least, most] = std::ranges::minmax(tried, {}, &TriedRate::loss);
  const double low = least.loss, top = std::min(most.loss, 2 * tried.front().loss);
  std::vector<std::string> lines(rows, std::string(columns, ' '));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const double up = top > low ? std::clamp((tried[i].loss - low) / (top - low), 0.0, 1.0) : 0.5;
    const auto row = std::size_t(std::lround((1 - up) * double(rows - 1)));
    lines[row][tried.size() > 1 ? i * (columns - 1) / (tried.size() - 1) : 0] = '*';
  }
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string label = row == 0          ? fmt::format("{:.4f}", top)
                              : row + 1 == rows ? fmt::format("{:.4f}", low)
                                                : "";
    text += fmt::format("{:>9} |{}", label, lines[row]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + fmt::format("{:>9} +{}\n{:>11}{:<{}}{:>10.2e}\n", "loss", std::string(columns, '-'),
                            "", fmt::format("{:.2e}", tried.front().lr), columns - 10,
                            tried.back().lr);
}

}  // namespace xgrad
