#include <xgrad/train/inspect/lr_find.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

namespace {

constexpr double kMemory = 0.9;          // decay of the moving average that smooths losses
constexpr double kDiverged = 4;          // a loss above this multiple of the lowest has diverged
constexpr std::size_t kLeastTried = 10;  // a curve needs more learning rates than this

}  // namespace

std::vector<TriedRate> try_rates(Config config, double from, double to, std::size_t steps) {
  config.train.spike = 0;                 // large gradients are expected here
  config.train.dead_gradients_every = 0;  // and rates at which units die
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    std::vector<TriedRate> tried;
    double mean = 0, lowest = std::numeric_limits<double>::infinity();
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
  double best = 0, lr = tried.front().lr;
  for (std::size_t i = span; i + span < tried.size(); ++i) {
    const double fall = tried[i - span].loss - tried[i + span].loss;
    if (fall > best) {
      best = fall;
      lr = tried[i].lr;
    }
  }
  return lr;
}

std::string to_text(const std::vector<TriedRate>& tried) {
  constexpr std::size_t rows = 14, columns = 64;
  const auto less = [](const TriedRate& a, const TriedRate& b) { return a.loss < b.loss; };
  const auto [low, high] = std::minmax_element(tried.begin(), tried.end(), less);
  const double top = std::min(high->loss, 2 * tried.front().loss), span = top - low->loss;
  std::vector<std::string> lines(rows, std::string(columns, ' '));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const double up = span > 0 ? std::clamp((tried[i].loss - low->loss) / span, 0.0, 1.0) : 0.5;
    const auto row = std::size_t(std::lround((1 - up) * double(rows - 1)));
    lines[row][tried.size() > 1 ? i * (columns - 1) / (tried.size() - 1) : 0] = '*';
  }
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const bool label = row == 0 || row + 1 == rows;
    text += fmt::format("{:>9} |{}", label ? fmt::format("{:.4f}", row == 0 ? top : low->loss) : "",
                        lines[row]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + fmt::format("{:>9} +{}\n{:>11}{:<{}}{:>10.2e}\n", "loss", std::string(columns, '-'),
                            "", fmt::format("{:.2e}", tried.front().lr), columns - 10,
                            tried.back().lr);
}

}  // namespace xgrad
