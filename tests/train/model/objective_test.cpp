#include <xgrad/train/model/objective.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

TaskShape shape_of(TargetKind target) {
  return {.vocabulary = 3, .max_length = 4, .classes = 2, .target = target};
}

Loss loss_for(const std::string& word, TargetKind target) {
  TrainConfig config;
  config.loss = word;
  return make_objective(config, shape_of(target)).loss;
}

TEST(Objective, S4_8_AutoIsTheLossOfTheKindOfTarget) {
  EXPECT_EQ(loss_for("auto", TargetKind::classes), Loss::cross_entropy);
  EXPECT_EQ(loss_for("auto", TargetKind::binary), Loss::binary_cross_entropy);
  EXPECT_EQ(loss_for("auto", TargetKind::numbers), Loss::mse);
  EXPECT_EQ(loss_for("huber", TargetKind::numbers), Loss::huber);
  EXPECT_EQ(loss_for("mae", TargetKind::numbers), Loss::mae);
}

TEST(Objective, ALossForOtherTargetsIsRefused) {
  EXPECT_TRUE(test::throws_with<ConfigError>(
      [] { loss_for("mse", TargetKind::classes); },
      "train.loss: mse is for targets that are numbers; those of the task are classes"));
  EXPECT_TRUE(test::throws_with<ConfigError>([] { loss_for("cross_entropy", TargetKind::binary); },
                                             "those of the task are yes or no"));
  TrainConfig smooth;
  smooth.label_smoothing = 0.1;
  EXPECT_TRUE(
      test::throws_with<ConfigError>([&] { make_objective(smooth, shape_of(TargetKind::numbers)); },
                                     "train.label_smoothing: needs the loss cross_entropy"));
}

// Three examples with four, two and no targets of two classes, and a target of no class.
class Classes final : public Dataset {
 public:
  std::size_t size() const override { return 3; }
  Example get(std::uint64_t, std::size_t index) const override {
    const std::vector<std::vector<std::int32_t>> targets = {{0, 0, 0, 1}, {0, kIgnore, 1, 2}, {}};
    return {{0, 1, 2}, {}, targets[index]};
  }
};

// The numbers of scikit-learn's compute_class_weight("balanced"): 6 / (2 * 4), 6 / (2 * 2).
TEST(Objective, BalancedClassesWeighTheSameTogether) {
  TrainConfig config;
  config.balanced_classes = true;
  const Classes data;
  TaskShape shape = shape_of(TargetKind::classes);
  EXPECT_EQ(training_objective(config, shape, &data).class_weights,
            (std::vector<double>{0.75, 1.5}));
  shape.classes = 4;
  shape.class_names = {"a", "b", "c", "d"};
  EXPECT_TRUE(test::throws_with<ConfigError>(
      [&] { training_objective(config, shape, &data); },
      "train.class_weights: balanced weights need a training target of each class, and there is "
      "none of class d"));
}

TEST(Objective, ATargetWeighsAsMuchAsItsClass) {
  Batch batch;
  batch.targets = test::tensor<std::int32_t>({2, 2}, {1, kIgnore, 0, 1});
  EXPECT_EQ(weight_of_targets({.class_weights = {1, 3}}, batch), 7);
}

TEST(Objective, PlannedStepsAreThoseOfTheConfigOrOfItsEpochs) {
  EXPECT_EQ(planned_steps({.steps = 1, .batch = 4}, 1000), 1u);
  // 3 batches of 4 in each of 5 epochs, two batches a step.
  EXPECT_EQ(planned_steps({.steps = 0, .epochs = 5, .batch = 4, .accumulate = 2}, 10), 8u);
}

TEST(Objective, DropoutGoesFromItsStartToItsEnd) {
  const TrainConfig config = {.dropout_start = 0.5, .dropout_end = 1.5};
  const auto scale = [&](std::uint64_t step, std::uint64_t steps) {
    return training_context(config, step, steps).dropout_scale;
  };
  EXPECT_EQ(scale(0, 5), 0.5);
  EXPECT_EQ(scale(1, 5), 0.75);
  EXPECT_EQ(scale(4, 5), 1.5);
  EXPECT_EQ(scale(9, 5), 1.5);  // a run that was extended
  EXPECT_EQ(scale(0, 2), 0.5);
  EXPECT_EQ(scale(1, 2), 1.5);
  EXPECT_EQ(scale(0, 1), 0.5);
}

TEST(Objective, WeightsOfClassesThatDoNotFitAreRefused) {
  const auto refusal = [](std::vector<double> weights, TargetKind target) {
    TrainConfig config;
    config.class_weights = std::move(weights);
    try {
      training_objective(config, shape_of(target), nullptr);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal({1, 2, 3}, TargetKind::classes),
            "train.class_weights: has 3 weights, but the task has 2 classes");
  EXPECT_EQ(refusal({0, 0}, TargetKind::classes),
            "train.class_weights: all are 0, so there is nothing to minimise");
  EXPECT_EQ(refusal({1, 2}, TargetKind::numbers),
            "train.class_weights: needs targets that are classes; those of the task are numbers");
  EXPECT_EQ(refusal({1, 0}, TargetKind::classes), "none");
}

// Yes-or-no targets for each token of a sequence: whether it is a 1, and whether the next is; of
// the last token nothing is asked of the next.
class TwoAnswers final : public Task {
 public:
  TaskShape shape() const override { return shape_of(TargetKind::binary); }
  std::unique_ptr<Dataset> dataset(Split split) const override {
    return std::make_unique<Data>(split);
  }
  Example parse(const std::string&) const override { return {}; }

 private:
  class Data final : public Dataset {
   public:
    explicit Data(Split split) : rng_(Rng(7) / to_string(split)) {}
    std::size_t size() const override { return 200; }
    Example get(std::uint64_t, std::size_t index) const override {
      const Rng own = rng_ / index;
      Example example;
      const std::size_t length = 2 + own.below(3, 0);
      for (std::size_t n = 0; n < length; ++n) {
        example.ids.push_back(std::int32_t((own / "id").below(3, n)));
      }
      for (std::size_t n = 0; n < length; ++n) {
        const float next = n + 1 < length ? float(example.ids[n + 1] == 1) : std::nanf("");
        example.values.insert(example.values.end(), {float(example.ids[n] == 1), next});
      }
      return example;
    }

   private:
    Rng rng_;
  };
};

Config config_for(const std::string& task, const std::string& train = "") {
  static const bool added = [] {
    add_task(
        {"two_answers", "Two answers for each token.", {}, {}, [](const Options&, std::uint64_t) {
           return std::make_unique<TwoAnswers>();
         }});
    return true;
  }();
  EXPECT_TRUE(added);
  return parse_config("[task]\nname = '" + task +
                          "'\n[model]\nwidth = 16\nheads = 2\nlayers = 1\ndropout = 0.0\n"
                          "attention_dropout = 0.0\n[optim]\nlr = 1e-2\n[train]\nsteps = 150\n" +
                          train,
                      "objective.toml", {});
}

Metrics trained(const Config& config) {
  Trainer<float> trainer(config);
  TrainerHooks nothing;
  trainer.run(nothing);
  return trainer.evaluate(Split::test);
}

// From the config to the metrics.
TEST(Objective, S4_8_BinaryTargetsAreLearned) {
  const Metrics metrics = trained(config_for("two_answers"));
  EXPECT_EQ(metrics.target, TargetKind::binary);
  EXPECT_GT(metrics.accuracy.mean(), 0.99);
  EXPECT_GT(metrics.exact.mean(), 0.97);
}

TEST(Objective, S2_15_S4_8_NumbersAreLearnedByEveryLoss) {
  for (const char* loss : {"mse", "mae", "huber"}) {
    const Metrics metrics =
        trained(config_for("mean_of_marked", "loss = '" + std::string(loss) + "'\n"));
    EXPECT_EQ(metrics.target, TargetKind::numbers);
    EXPECT_GT(metrics.r2.value(), 0.5) << loss;
    EXPECT_EQ(metrics.figures()[0].name, "loss");
  }
}

TEST(Objective, S4_8_GradientsOfEveryLossThroughTheModel) {
  for (const char* task : {"two_answers", "mean_of_marked", "ar2"}) {
    const GradientReport report = check_model(config_for(task)).report;
    EXPECT_TRUE(report.ok()) << task << "\n" << report.table();
  }
  const GradientReport report =
      check_model(config_for("mean_of_marked", "loss = 'huber'\nhuber_delta = 0.3\n")).report;
  EXPECT_TRUE(report.ok()) << report.table();
}

// Micro-batches of one logical batch weigh each number the same.
TEST(Objective, AccumulatingGivesTheSameStepAsOneBatch) {
  std::vector<Tensor<double>> first;
  for (const char* cut : {"batch = 8\naccumulate = 1\n", "batch = 2\naccumulate = 4\n"}) {
    Config config = config_for("two_answers", cut);
    config.train.steps = 1;
    config.train.clip = 0;
    config.optim.name = "sgd";
    Trainer<double> trainer(config);
    TrainerHooks nothing;
    trainer.run(nothing);
    std::size_t i = 0;
    for (const Parameter<double>& p : trainer.parameters()) {
      if (first.size() <= i) first.push_back(p.variable.value());
      EXPECT_TENSOR_NEAR(p.variable.value(), first[i], 1e-14) << p.name;
      ++i;
    }
  }
}

}  // namespace
}  // namespace xgrad
