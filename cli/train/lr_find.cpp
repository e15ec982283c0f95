#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  double from = 1e-6, to = 1;
  std::size_t steps = 150;
};

constexpr double kMemory = 0.9;          // decay of the moving average that smooths losses
constexpr double kDiverged = 4;          // a loss above this multiple of the lowest has diverged
constexpr std::size_t kLeastTried = 10;  // a curve needs more learning rates than this

struct Tried {
  double lr, loss;
};

struct Search {
  std::vector<Tried> tried;
  bool finite = true;  // whether every loss was finite
};

// Records the smoothed training loss at growing learning rates, until it diverges.
template <class T>
Search try_rates(const Config& config, const Arguments& arguments) {
  Trainer<T> trainer(config);
  Search search;
  std::vector<Tried>& tried = search.tried;
  double mean = 0, lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < arguments.steps; ++i) {
    const double lr = arguments.from * std::pow(arguments.to / arguments.from,
                                                double(i) / double(arguments.steps - 1));
    double loss = 0;
    try {
      loss = trainer.train_step(lr).loss;
    } catch (const NumericError&) {
      search.finite = false;
      break;
    }
    mean = kMemory * mean + (1 - kMemory) * loss;
    const double smooth = mean / (1 - std::pow(kMemory, double(i + 1)));
    tried.push_back({lr, smooth});
    lowest = std::min(lowest, smooth);
    if (smooth > kDiverged * lowest) break;
  }
  return search;
}

// The learning rate around which the loss falls fastest, a tenth of the curve to either side.
double steepest(const std::vector<Tried>& tried) {
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

std::string plot(const std::vector<Tried>& tried) {
  constexpr std::size_t rows = 14, columns = 64;
  const auto less = [](const Tried& a, const Tried& b) { return a.loss < b.loss; };
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

// Plots the training loss while the learning rate grows from step to step (Smith 2017), and
// suggests a learning rate.
int lr_find(const Arguments& arguments) {
  xgrad::check<ConfigError>(arguments.from < arguments.to, "lr-find: --from ", arguments.from,
                            " is not below --to ", arguments.to);
  Config config = load_config(arguments.config, arguments.overrides);
  if (config.train.threads > 0) set_threads(config.train.threads);
  config.train.spike = 0;                 // large gradients are expected here
  config.train.dead_gradients_every = 0;  // and rates at which units die
  const auto [tried, finite] =
      with_precision(config, [&]<class T>() { return try_rates<T>(config, arguments); });
  const bool enough = tried.size() > kLeastTried;
  xgrad::check<NumericError>(enough || finite, "lr-find: the loss is not finite after ",
                             tried.size(), " steps; start lower with --from");
  xgrad::check<Error>(enough, "lr-find: the loss diverged after ", tried.size(),
                      " steps; start lower with --from");
  fmt::print("{}\nthe loss falls fastest at optim.lr={:.1e}\n", plot(tried), steepest(tried));
  return 0;
}

}  // namespace

Command lr_find_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "lr-find", "Suggest a learning rate from a short test run",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--from", "the lowest learning rate", &a->from, kPositive},
       {"--to", "the highest learning rate", &a->to, kPositive},
       {"--steps", "number of steps from --from to --to", &a->steps, {.range = {{20, 1000000}}}}},
      [a] { return lr_find(*a); });
}

}  // namespace xgrad::commands
