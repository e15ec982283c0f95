// Measures how long training steps wait for their batches. For each config given, times steps with
// batches from its data, in turn with steps with batches drawn before, on one thread and on all;
// and how long one thread takes to draw a batch. Prints a line of JSON for each config.
//
//   build/release/bench/data_path configs/neighbours.toml configs/reverse.toml
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>

namespace {

using namespace xgrad;
using Clock = std::chrono::steady_clock;

// A round has at least kFewest steps, more than the number of batches that are made ahead.
constexpr int kRounds = 9, kFewest = 16;
constexpr double kSeconds = 0.15;  // about the time of a round

double seconds(Trainer<float>& trainer, int steps) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < steps; ++i) trainer.train_step();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The same with batches drawn before. A first step, which is not timed, gives the loader's thread
/// time to finish.
double seconds_without_data(Trainer<float>& trainer, int steps) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    trainer.hold_batch();
    trainer.train_step();
    sum += seconds(trainer, 1);
  }
  return sum;
}

/// Milliseconds in which one thread draws the batches of a step; the minimum of several rounds.
double draw(const Config& config) {
  const SerialScope alone;
  const std::unique_ptr<Task> task = make_task(config);
  const std::unique_ptr<Dataset> data = task->dataset(Split::train);
  Loader loader(*data, task->shape(),
                {.batch = config.train.batch,
                 .seed = config.train.seed,
                 .shuffle = true,
                 .bucket = config.train.bucket});
  loader.next();
  double shortest = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const Clock::time_point start = Clock::now();
    for (std::size_t k = 0; k < 4 * config.train.accumulate; ++k) loader.next();
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count() / 4);
  }
  return 1e3 * shortest;
}

void compare(const Config& config, int count) {
  set_threads(count);
  Trainer<float> drawing(config), waiting(config);
  seconds(drawing, 5), seconds_without_data(waiting, 5);  // warm
  const int steps = std::max(kFewest, int(kSeconds * 5 / seconds(drawing, 5)));
  seconds_without_data(waiting, 5);  // now both are at the same batch
  std::vector<double> ratios;
  double shortest = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const double drawn = seconds(drawing, steps), before = seconds_without_data(waiting, steps);
    ratios.push_back(drawn / before);
    shortest = std::min(shortest, before / steps);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto per_cent = [&](int quarter) { return 100 * (ratios[kRounds * quarter / 4] - 1); };
  std::printf(R"({"threads": %d, "step_ms": %.4g, "low": %.2f, "median": %.2f, "high": %.2f})",
              count, 1e3 * shortest, per_cent(1), per_cent(2), per_cent(3));
}

void measure(const std::string& path, int cores) {
  const Config config = load_config(path, {"train.precision=float"});
  std::printf(R"({"config": "%s", "draw_ms": %.3g, "longer": [)", path.c_str(), draw(config));
  compare(config, 1);
  if (cores > 1) std::printf(", "), compare(config, cores);
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = threads();
  int failed = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc; ++i) {
    try {
      measure(argv[i], cores);
    } catch (const std::exception& error) {  // for example, missing data
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      failed = 1;
    }
  }
  return failed;
}
