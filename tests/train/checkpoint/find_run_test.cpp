// Files of the user's own, from the run that trains on them to whatever goes on from it.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/predict/predictor.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using test::message_of;
using test::TemporaryDirectory;

Config config_of(const TemporaryDirectory& folder, const std::string& more) {
  return parse_config(
      "[task]\nname = 'files'\ntrain = 'train.csv'\ntest = 'test.csv'\n"
      "validation = 'validation.csv'\n" +
          more +
          "[model]\nwidth = 4\nheads = 1\nlayers = 1\npool = 'mean'\n"
          "[train]\nsteps = 2\n",
      folder / "a.toml", {});
}

Checkpoint saved_run(const Config& config) {
  Trainer<float> trainer(config);
  trainer.train_step();
  for (const Split split : {Split::validation, Split::test}) trainer.evaluate(split);
  return from_hdf5(to_hdf5(trainer.capture()), "memory");
}

// The same rows for each split.
void write_splits(const TemporaryDirectory& folder, const std::string& rows) {
  for (const char* name : {"train.csv", "validation.csv", "test.csv"}) folder.write(name, rows);
}

TEST(DataFiles, ARunDoesNotGoOnWithOthers) {
  const TemporaryDirectory folder;
  const std::string rows = "text,label\na b,x\nb c,y\n";
  write_splits(folder, rows);
  const Config config = config_of(folder, "");
  const Checkpoint saved = saved_run(config);
  for (const Split split : {Split::validation, Split::test}) {
    const auto go_on = [&] { Trainer<float>(config, &saved).evaluate(split); };
    EXPECT_EQ(message_of<Error>(go_on), "none");
    const std::string file =
        folder.write(to_string(split) + std::string(".csv"), "text,label\nc,x\n");
    EXPECT_EQ(message_of<Error>(go_on), file + ": has changed since this run began");
    folder.write(to_string(split) + std::string(".csv"), rows);
  }
}

TEST(DataFiles, ATrainedModelIsScoredOnOthers) {
  const TemporaryDirectory folder;
  write_splits(folder, "text,label\na b,x\nb c,y\n");
  const std::string run = folder.write("run.h5", to_hdf5(saved_run(config_of(folder, ""))));
  const std::string other = folder.write("other.csv", "text,label\na,x\nb,x\nc,y\n");
  const auto size = [&](const std::vector<std::string>& overrides) {
    return LoadedModel<float>(find_run(run, overrides)).task->dataset(Split::test)->size();
  };
  EXPECT_EQ(size({}), 2);
  EXPECT_EQ(size({"task.test=" + other}), 3);
}

TEST(FindRun, RefusesWeightsWithoutAConfig) {
  const TemporaryDirectory folder;
  Checkpoint weights = test::small_checkpoint();
  weights.config.clear();
  const std::string file = folder.write("bare.h5", to_hdf5(weights));
  EXPECT_EQ(message_of<CheckpointError>([&] { find_run(file); }),
            file +
                ": holds weights without a config; give a run directory or one of its "
                "checkpoints, or add a config to the weights with `xgrad import --from hdf5 "
                "--config CONFIG --out NEW.h5`");
}

TEST(DataFiles, ARunOnLargeNumbersGoesOn) {
  const TemporaryDirectory folder;
  write_splits(folder, "text,label\n1e200,1e170\n3e200,2e170\n");
  const Config config = config_of(folder, "tokens = 'numbers'\nlabels = 'numbers'\n");
  const Checkpoint saved = saved_run(config);
  EXPECT_EQ(message_of<Error>([&] { Trainer<float>(config, &saved).train_step(); }), "none");
}

}  // namespace
}  // namespace xgrad
