#include <xgrad/train/loop/trainer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <xgrad/train/checkpoint/state_dict.hpp>

#include "support/gradients.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using test::small_config;

// Remembers what a run did, and stops it after some steps.
struct Diary final : TrainerHooks {
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_evaluation(std::uint64_t step, const Metrics&) override { evaluations.push_back(step); }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  bool stop() override { return steps.size() == stop_after; }

  std::vector<StepReport> steps;
  std::vector<std::uint64_t> evaluations;
  std::vector<Checkpoint> saves;
  std::size_t stop_after = 0;
};

TEST(Trainer, HoldsTheNextBatchEachTime) {
  Trainer<float> holding(small_config()), plain(small_config());
  for (int i = 0; i < 3; ++i) {
    holding.hold_batch();
    EXPECT_EQ(holding.train_step().loss, plain.train_step().loss);
  }
}

TEST(Trainer, EvaluatesAndSavesWhenTheConfigSays) {
  Trainer<float> trainer(small_config());
  Diary diary;
  trainer.run(diary);
  EXPECT_TRUE(trainer.finished());
  EXPECT_EQ(diary.evaluations, (std::vector<std::uint64_t>{4, 8, 12}));
  ASSERT_EQ(diary.saves.size(), 3u);
  EXPECT_EQ(diary.saves.back().step, 12u);
}

// A run stopped after any step, with everything that a checkpoint must then hold.
void expect_same_bits_from_any_checkpoint(const Config& config) {
  Trainer<float> whole(config);
  Diary diary;
  whole.run(diary);
  const std::string last = to_hdf5(whole.capture());
  for (std::size_t k = 1; k < whole.step(); ++k) {
    Trainer<float> first(config);
    Diary stopped;
    stopped.stop_after = k;
    first.run(stopped);
    ASSERT_EQ(stopped.saves.back().step, k);
    Trainer<float> second(config);
    second.restore(from_hdf5(to_hdf5(stopped.saves.back()), "memory"));
    Diary rest;
    second.run(rest);
    ASSERT_EQ(to_hdf5(second.capture()), last) << "stopped after " << k;
    for (std::size_t i = 0; i < rest.steps.size(); ++i) {
      EXPECT_EQ(rest.steps[i].loss, diary.steps[k + i].loss);
      EXPECT_EQ(rest.steps[i].lr, diary.steps[k + i].lr);
    }
  }
}

TEST(Trainer, FromAnyCheckpointTheBitsAreTheSame) {
  expect_same_bits_from_any_checkpoint(small_config());
}

TEST(Trainer, FromAnyCheckpointWithEachOptimizer) {
  for (const char* name : {"adagrad", "adam", "lion", "rmsprop", "sgd"}) {
    expect_same_bits_from_any_checkpoint(
        small_config({std::string("optim.name=") + name, "train.steps=6"}));
  }
}

// The mean of the weights, a plateau that falls, patience that ends the run, a frozen embedding.
TEST(Trainer, FromAnyCheckpointWithMeanPlateauAndPatience) {
  const std::vector<std::string> all = {"train.ema=0.8",
                                        "train.evaluate_every=2",
                                        "train.patience=5",
                                        "train.steps=40",
                                        "train.accumulate=2",
                                        "schedule.name=plateau",
                                        "schedule.patience=1",
                                        "schedule.warmup=3",
                                        "schedule.gamma=0.5",
                                        "optim.lr=0.4",
                                        "optim.groups=[{match='embedding.*', freeze=true}]"};
  Trainer<float> whole(small_config(all));
  Diary diary;
  whole.run(diary);
  EXPECT_TRUE(whole.out_of_patience());
  EXPECT_TRUE(whole.finished());
  EXPECT_LT(whole.step(), 40u);
  EXPECT_EQ(diary.saves.back().step, whole.step());
  EXPECT_LT(diary.steps.back().lr, 0.4);
  expect_same_bits_from_any_checkpoint(small_config(all));
}

TEST(Trainer, FromAnyCheckpointWithAnEqualMeanAndWhatChangesOverTheRun) {
  expect_same_bits_from_any_checkpoint(small_config(
      {"train.swa_start=3", "train.swa_every=2", "train.accumulate=2", "train.evaluate_every=2",
       "task.min_length=2", "train.curriculum_start=2", "train.curriculum_steps=7",
       "model.stochastic_depth=0.4", "train.dropout_start=0.2", "train.class_weights=balanced",
       "train.clip_value=0.01", "train.clip=0.02"}));
}

// Until its first weights, an equal mean is the weights themselves.
TEST(Trainer, AnEqualMeanIsThatOfItsSteps) {
  Trainer<double> trainer(
      small_config({"train.swa_start=3", "train.swa_every=2", "train.precision=double"}));
  Tensor<double> sum;
  for (int step = 1; step <= 9; ++step) {
    trainer.train_step();
    const Checkpoint checkpoint = trainer.capture();
    const auto first = [](const Checkpoint& c) {
      return std::get<Tensor<double>>(c.parameters[0].tensor);
    };
    const Tensor<double> now = first(checkpoint), mean = first(weights_of(checkpoint));
    if (step == 5) sum = now;
    if (step == 7 || step == 9) sum += now;
    const Tensor<double> expected = step < 5 ? now : Tensor<double>(sum / double((step - 3) / 2));
    EXPECT_TENSOR_NEAR(mean, expected, 1e-15) << step;
  }
}

// The mean of the weights is evaluated, judged as best and exported.
class TrainerMeans : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, TrainerMeans, testing::Values("train.ema=0.9", "train.swa_start=4"));

TEST_P(TrainerMeans, EvaluatesTheMeanOfTheWeights) {
  Trainer<float> trainer(small_config({GetParam()}));
  Diary diary;
  trainer.run(diary);
  const Checkpoint checkpoint = trainer.capture();
  const Checkpoint mean = weights_of(checkpoint), raw = weights_of(checkpoint, /*raw=*/true);
  const auto with_weights = [&](const Checkpoint& weights) {
    Config config = small_config();
    Trainer<float> other(config);
    restore_weights(weights.parameters, "a.h5", other.parameters());
    return other.evaluate(Split::validation).loss.mean();
  };
  EXPECT_EQ(trainer.evaluate(Split::validation).loss.mean(), with_weights(mean));
  EXPECT_EQ(state_value<double>(checkpoint, "best_loss"), with_weights(mean));
  EXPECT_NE(with_weights(raw), with_weights(mean));
  // Evaluating has changed nothing.
  EXPECT_EQ(to_hdf5(trainer.capture()), to_hdf5(checkpoint));
  EXPECT_TRUE(weights_of(weights_of(checkpoint)).optimizer.empty());
}

TEST(Trainer, FrozenParametersStayAsTheyAre) {
  Trainer<float> trainer(small_config({"optim.groups=[{match='embedding.*', freeze=true}]"}));
  const Checkpoint before = trainer.capture();
  Diary diary;
  trainer.run(diary);
  const Checkpoint after = trainer.capture();
  for (std::size_t i = 0; i < after.parameters.size(); ++i) {
    const bool frozen = after.parameters[i].name.starts_with("embedding.");
    EXPECT_EQ(std::get<Tensor<float>>(after.parameters[i].tensor) ==
                  std::get<Tensor<float>>(before.parameters[i].tensor),
              frozen)
        << after.parameters[i].name;
  }
  for (const NamedTensor& t : after.optimizer) {
    EXPECT_EQ(t.name.find("embedding"), std::string::npos) << t.name;
  }
}

TEST(Trainer, GroupsThatCannotBe) {
  const auto trainer = [](const std::string& groups) {
    Trainer<float> made(small_config({"optim.groups=" + groups}));
  };
  EXPECT_TRUE(test::throws_with<ConfigError>([&] { trainer("[{match='*', freeze=true}]"); },
                                             "every parameter is frozen"));
  EXPECT_TRUE(test::throws_with<ConfigError>([&] { trainer("[{match='encodr.*'}]"); },
                                             "\"encodr.*\" matches no parameter"));
}

// G7: k micro-batches of b are one batch of k b, with ragged lengths and dropout.
TEST(Trainer, G7_AccumulationIsOneLargeBatch) {
  const std::vector<std::string> ragged = {
      "task.length=9",  "task.min_length=2", "model.dropout=0.2", "model.attention_dropout=0.2",
      "train.clip=0.1", "train.steps=3",     "optim.name=sgd",    "optim.lr=0.1"};
  const auto run = [&](std::size_t batch, std::size_t accumulate) {
    std::vector<std::string> overrides = ragged;
    overrides.push_back("train.batch=" + std::to_string(batch));
    overrides.push_back("train.accumulate=" + std::to_string(accumulate));
    auto trainer = std::make_unique<Trainer<double>>(small_config(overrides));
    Diary diary;
    trainer->run(diary);
    return std::pair(std::move(trainer), diary.steps);
  };
  const auto [one, steps] = run(16, 1);
  for (const std::size_t k : {2, 4, 8, 16}) {
    const auto [many, micro_steps] = run(16 / k, k);
    ASSERT_EQ(micro_steps.size(), steps.size());
    EXPECT_NEAR(micro_steps[0].loss, steps[0].loss, 1e-12 * steps[0].loss) << k;
    EXPECT_NEAR(micro_steps[0].grad_norm, steps[0].grad_norm, 1e-12 * steps[0].grad_norm) << k;
    auto expected = one->parameters().begin();
    for (const Parameter<double>& p : many->parameters()) {
      const Tensor<double>& a = p.variable.value();
      const Tensor<double>& b = (expected++)->variable.value();
      for (std::size_t e = 0; e < a.size(); ++e) {
        ASSERT_NEAR(a.data()[e], b.data()[e], 1e-12) << p.name << " " << k;
      }
    }
  }
}

TEST(Trainer, UpdatesNothingWhenTheLossIsNotFinite) {
  Config config = small_config();
  config.optim.name = "sgd";
  config.optim.lr = 1e30;
  config.optim.weight_decay = 0;
  config.train.clip = 0;
  Trainer<float> trainer(config);
  Diary diary;
  EXPECT_TRUE(test::throws_with<NumericError>([&] { trainer.run(diary); }, "nothing was updated"));
  ASSERT_FALSE(diary.steps.empty());
  // The same steps again, stopped just before the one that failed.
  Trainer<float> again(config);
  Diary until;
  until.stop_after = diary.steps.size();
  again.run(until);
  auto expected = again.parameters().begin();
  for (const Parameter<float>& p : trainer.parameters()) {
    EXPECT_TRUE(test::same_bits(p.variable.value(), expected->variable.value())) << p.name;
    ++expected;
  }
}

TEST(Trainer, ACheckpointOfAnotherModelChangesNothing) {
  Config wider = small_config();
  wider.model.width = 16;
  Trainer<float> other(wider);
  Trainer<float> trainer(small_config());
  const std::string before = to_hdf5(trainer.capture());
  EXPECT_THROW(trainer.restore(other.capture()), CheckpointError);
  EXPECT_EQ(to_hdf5(trainer.capture()), before);
}

TEST(Trainer, APositionBehindTheDataChangesNothing) {
  Trainer<float> trainer(small_config());
  const std::string before = to_hdf5(trainer.capture());
  Trainer<float> other(small_config());
  other.train_step();
  Checkpoint state = other.capture();
  state.state["position"] = std::int64_t(1) << 40;
  EXPECT_THROW(trainer.restore(state), CheckpointError);
  EXPECT_EQ(to_hdf5(trainer.capture()), before);
}

// Of 5 batches an epoch in steps of 2: 15 batches are 8 steps, and epochs end in those that take
// the batches 5, 10 and 15.
TEST(Trainer, EpochsAreThoseOfTheData) {
  Trainer<float> trainer(
      small_config({"train.steps=0", "train.epochs=3", "train.batch=10", "train.accumulate=2",
                    "task.examples=50", "train.evaluate_every=0"}));
  EXPECT_EQ(trainer.total_steps(), 8u);
  Diary diary;
  trainer.run(diary);
  EXPECT_EQ(diary.evaluations, (std::vector<std::uint64_t>{3, 5, 8}));
  EXPECT_EQ(diary.saves.size(), 3u);
}

// An epoch of 96 examples: each counts once, at its own length, and an image is one.
TEST(Trainer, CountsTokensWithoutPadding) {
  const std::string rest = "examples = 96\n[model]\nwidth = 8\nheads = 1\nlayers = 1\n";
  for (const char* task : {"name = 'reverse'\nlength = 9\nmin_length = 1\n",
                           "name = 'mean_of_marked'\nlength = 9\nmin_length = 1\n",
                           "name = 'copy'\nlength = 5\n", "name = 'shapes'\nsize = 8\n"}) {
    const std::string text = "[task]\n" + std::string(task) + rest;
    Trainer<float> trainer(parse_config(text, "tokens.toml",
                                        {"train.epochs=1", "train.batch=8", "train.accumulate=2"}));
    Diary diary;
    trainer.run(diary);
    const TaskShape shape = trainer.task().shape();
    const auto train = trainer.task().dataset(Split::train);
    std::size_t expected = 0, found = 0;
    for (std::size_t i = 0; i < train->size(); ++i) {
      const std::size_t length = length_of(train->get(0, i), shape);
      expected += shape.input == InputKind::image ? 1 : length;
    }
    for (const StepReport& step : diary.steps) found += step.tokens;
    EXPECT_EQ(diary.steps.size(), 6u);
    EXPECT_EQ(found, expected) << task;
  }
}

// Checkpoints do not hold the key, as it does not change the result.
TEST(Trainer, RecomputesToTheSameBits) {
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"task.min_length=2", "train.accumulate=2"},
           {"model.norm=post", "model.positions=relative_bias"},
           {"model.norm=sandwich", "model.normalization=batch", "model.score=additive"}}) {
    std::vector<std::string> overrides = {"model.layers=3"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    Config config = small_config(overrides);
    Trainer<float> kept(config);
    config.train.recompute = true;
    Trainer<float> again(config);
    Diary first, second;
    kept.run(first);
    again.run(second);
    EXPECT_EQ(to_hdf5(again.capture()), to_hdf5(kept.capture())) << more.front();
  }
}

TEST(Trainer, LearnsInDoubleToo) {
  Config config = small_config();
  config.train.steps = 60;
  Trainer<double> trainer(config);
  Diary diary;
  trainer.run(diary);
  EXPECT_LT(diary.steps.back().loss, diary.steps.front().loss);
}

// Foreign HDF5 is read by a forked process, and a fork copies the locks that another thread holds.
TEST(Trainer, AllDataAreReadBeforeAThreadIsStarted) {
  static std::vector<Split> read;
  static std::atomic<std::size_t> late = 0, elsewhere = 0;
  static const std::thread::id home = std::this_thread::get_id();
  struct Same final : Dataset {
    std::size_t size() const override { return 20; }
    Example get(std::uint64_t, std::size_t index) const override {
      elsewhere += std::this_thread::get_id() != home;
      return {.ids = {std::int32_t(index % 3)}, .targets = {std::int32_t(index % 2)}};
    }
  };
  struct Reads final : Task {
    TaskShape shape() const override {
      return {.output = OutputKind::sequence, .vocabulary = 3, .max_length = 1, .classes = 2};
    }
    std::unique_ptr<Dataset> dataset(Split split) const override {
      read.push_back(split);
      late += elsewhere > 0;
      return std::make_unique<Same>();
    }
    Example parse(const std::string&) const override { return {}; }
  };
  static const bool added = [] {
    add_task({"reads", "Notes when data are read.", {}, {}, [](const Options&, std::uint64_t) {
                return std::make_unique<Reads>();
              }});
    return true;
  }();
  EXPECT_TRUE(added);

  Trainer<float> trainer(parse_config(R"(
    task.name = "reads"
    model = {width = 8, heads = 2, layers = 1, pool = "mean"}
    train = {steps = 12, batch = 4}
  )",
                                      "reads.toml", {}));
  EXPECT_EQ(read, (std::vector{Split::train, Split::validation, Split::test}));
  for (int step = 0; step < 6; ++step) trainer.train_step();
  for (const Split split : {Split::train, Split::validation, Split::test}) trainer.evaluate(split);
  EXPECT_GT(elsewhere, 0u) << "batches are made ahead on another thread";
  EXPECT_EQ(late, 0u);
}

TEST(Trainer, KnowsTheRoomOfACheckpointWithoutMakingOne) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{},
        {"train.ema=0.9", "model.layers=12"},
        {"optim.name=sgd"},
        {"optim.name=sgd", "optim.momentum=0", "model.normalization=rms", "model.qkv_bias=false",
         "model.out_bias=false", "model.layers=12"},
        {"train.precision=double", "model.width=256", "optim.name=adagrad"}}) {
    const Config config = small_config(overrides);
    const auto check = [&]<class T>(const Trainer<T>& trainer) {
      const std::size_t size = to_hdf5(trainer.capture()).size(), most = trainer.checkpoint_bytes();
      const std::size_t tensors =
          trainer.capture().parameters.size() + trainer.capture().optimizer.size();
      EXPECT_GE(most, size);
      EXPECT_LE(most, size + 1536 * tensors + (1 << 14));
    };
    config.train.precision == "double" ? check(Trainer<double>(config))
                                       : check(Trainer<float>(config));
  }
}

}  // namespace
}  // namespace xgrad
