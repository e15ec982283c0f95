// What a step waits for its batch: steps of the configs named with batches from their data, beside
// steps with one batch again and again, in turn, on one thread and on all; and what one thread
// takes to draw a batch.
//
//   build/release/bench/data_path configs/neighbours.toml configs/reverse.toml
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/train/build.hpp>
#include <xgrad/train/trainer.hpp>

namespace {

using namespace xgrad;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 9, kFewest = 16;  // rounds; steps of one: more than are made ahead
constexpr double kSeconds = 0.15;         // of a round, each side

double seconds(Trainer<float>& trainer, int steps) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < steps; ++i) trainer.train_step();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Milliseconds of a thread for a batch, the least of some rounds.
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
  Trainer<float> drawing(config), repeating(config);
  repeating.hold_batch();
  seconds(drawing, 5), seconds(repeating, 5);  // warm
  const int steps = std::max(kFewest, int(kSeconds * 5 / seconds(repeating, 5)));
  std::vector<double> ratios;
  double shortest = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const double drawn = seconds(drawing, steps), repeated = seconds(repeating, steps);
    ratios.push_back(drawn / repeated);
    shortest = std::min(shortest, repeated / steps);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto per_cent = [&](int quarter) { return 100 * (ratios[kRounds * quarter / 4] - 1); };
  std::printf("   %d: step %8.3f ms %+5.1f %% [%+5.1f, %+5.1f]", count, 1e3 * shortest, per_cent(2),
              per_cent(1), per_cent(3));
  std::fflush(stdout);
}

void measure(const std::string& path, int cores) {
  const Config config = load_config(path, {"train.precision=float"});
  std::printf("%-32s draw %6.3f ms", path.c_str(), draw(config));
  compare(config, 1);
  if (cores > 1) compare(config, cores);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = threads();
  int failed = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc; ++i) {
    try {
      measure(argv[i], cores);
    } catch (const std::exception& error) {  // data that are not there
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      failed = 1;
    }
  }
  return failed;
}
