// Measures what reliability costs each config given: the share of a step's time that checks for NaN
// and infinity take, and the share of a run's time that saves take, at the config's own interval.
//
//   build/release/bench/reliability configs/reverse.toml configs/fashion_mnist.toml
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace {

using namespace xgrad;
using Clock = std::chrono::steady_clock;

/// Calls work() `runs` times and returns the seconds of each call, in ascending order.
std::vector<double> timed(int runs, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const Clock::time_point start = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

std::uint64_t interval(const TrainConfig& train, std::uint64_t total) {
  if (train.save_every > 0) return train.save_every;
  if (train.evaluate_every > 0) return train.evaluate_every;
  if (train.epochs > 0) return total / train.epochs;
  return std::max<std::uint64_t>(1, total / 10);
}

/// Does what a run does to save a checkpoint, including a row of the log.
void save(const Folder& folder, Checkpoint checkpoint, std::uint64_t step, std::size_t keep) {
  checkpoint.step = step;
  folder.append("metrics.jsonl", to_json(metrics_row(step, "train", {})));
  folder.sync("metrics.jsonl");
  const std::string name = checkpoint_name(step);
  const DigestedFile file = to_hdf5_file(checkpoint);
  add_to_manifest(folder, name, file.sha256);
  publish(folder, name, file.bytes);
  prune(folder, keep, 0);
}

void measure(const std::string& path) {
  const Config config = load_config(path, {"train.precision=float"});
  Trainer<float> trainer(config);
  for (int i = 0; i < 5; ++i) trainer.train_step();  // warm-up
  const double step = timed(40, [&] { trainer.train_step(); }).front();
  // The guards need the gradient norm even if nothing is clipped.
  const auto guards = timed(101, [&] {
    check<NumericError>(first_not_finite(trainer.parameters()) == nullptr, "a fault");
    if (config.train.clip == 0) check<NumericError>(global_norm(trainer.parameters()) >= 0, "");
  });
  const TemporaryFolder scratch(".");  // not in /tmp, which may be in memory
  std::uint64_t saved = 0;
  const auto saves =
      timed(15, [&] { save(scratch.path(), trainer.capture(), ++saved, config.train.keep); });
  // The shortest step, but the median save, because the time of a save depends on the disk.
  const double guard = guards[guards.size() / 2], saving = saves[saves.size() / 2];
  const std::uint64_t every = interval(config.train, trainer.total_steps());
  std::printf("%-32s step %9.3f ms   guards %6.3f %%   save %8.2f ms, every %llu steps: %6.3f %%\n",
              path.c_str(), 1e3 * step, 100 * guard / (step + guard), 1e3 * saving,
              (unsigned long long)every, 100 * saving / (saving + double(every) * step));
}

}  // namespace

int main(int argc, char** argv) try {
  for (int i = 1; i < argc; ++i) measure(argv[i]);
  return argc > 1 ? 0 : 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
