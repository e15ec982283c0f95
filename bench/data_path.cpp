// What a step waits for its batch: steps of the configs named with batches from their data, beside
// steps with the same batches drawn before, in turn, on one thread and on all; and what one thread
// takes to draw a batch. A line of JSON for each config.
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

constexpr int kRounds = 9, kFewest = 16;  // rounds; steps of one: more than are made ahead
constexpr double kSeconds = 0.15;         // of a round, each side

double seconds(Trainer<float>& trainer, int steps) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < steps; ++i) trainer.train_step();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The same with batches that are there already. The thread that makes batches ahead works while
/// nobody looks: in a step before.
double seconds_without_data(Trainer<float>& trainer, int steps) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    trainer.hold_batch();
    trainer.train_step();
    sum += seconds(trainer, 1);
  }
  return sum;
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
  Trainer<float> drawing(config), waiting(config);
  seconds(drawing, 5), seconds_without_data(waiting, 5);  // warm
  const int steps = std::max(kFewest, int(kSeconds * 5 / seconds(drawing, 5)));
  seconds_without_data(waiting, 5);  // both have come to the same batch
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
    } catch (const std::exception& error) {  // data that are not there
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      failed = 1;
    }
  }
  return failed;
}
