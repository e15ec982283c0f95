// Ensembles beside means of probabilities that plain loops compute, and their refusals.
#include <xgrad/train/model/ensemble.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/layers/module.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {
namespace {

using test::message_of;

constexpr std::size_t kMembers = 3;

// A model that answers every input with the same logits.
template <class T>
struct Fixed final : SequenceModel<T> {
  explicit Fixed(Tensor<T> logits) : logits(std::move(logits)) {}
  Variable<T> operator()(const ModelInput<T>&, const Context&) const override {
    return Variable<T>(logits);
  }
  Tensor<T> logits;
};

// The logits of an ensemble of such models.
template <class T>
Tensor<T> ensemble_of(TargetKind target, const std::vector<Tensor<T>>& each) {
  std::vector<std::shared_ptr<const SequenceModel<T>>> members;
  for (const Tensor<T>& logits : each) members.push_back(std::make_shared<Fixed<T>>(logits));
  return (*make_ensemble<T>(target, std::move(members)))({}, Context{}).value();
}

// Runs of one config with untrained models, each of a seed of its own.
struct Runs {
  explicit Runs(const std::string& task, const std::string& model = "")
      : config(parse_config("[task]\n" + task + "\n[model]\nwidth = 16\nheads = 2\nlayers = 1\n" +
                                model + "\n[train]\nsteps = 1\n",
                            "test", {})),
        made(make_task(config)) {
    for (std::size_t m = 0; m < kMembers; ++m) {
      Parameters<float> parameters(m + 1);
      make_model<float>(config, made->shape(), parameters);
      for (const Parameter<float>& p : parameters) {  // untrained, all would be nearly uniform
        for (float& x : p.variable.mutable_value()) x *= 3;
      }
      FoundRun& run = runs.emplace_back();
      run.file = "run" + std::to_string(m);
      run.checkpoint.parameters = capture(parameters);
      run.config = config;
    }
  }
  // The outputs of a run, or of several, for one example.
  template <class T>
  Tensor<double> outputs(std::span<const FoundRun> of, const Example& example) const {
    const NoGrad no_grad;
    const TrainedModel<T> trained(of, made->shape());
    const Batch batch = collate({example}, made->shape());
    return cast<double>((*trained.model)(BatchInput<T>(batch).input(), Context{}).value());
  }
  template <class T>
  std::vector<Tensor<double>> each(const Example& example) const {
    std::vector<Tensor<double>> all;
    for (const FoundRun& run : runs) all.push_back(outputs<T>({&run, 1}, example));
    return all;
  }

  Config config;
  std::unique_ptr<Task> made;
  std::vector<FoundRun> runs;
};

double sum_of_exp(const double* row, std::size_t classes) {
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c]);
  return sum;
}

TEST(Ensemble, ProbabilitiesOfClassesAreTheMean) {
  const Runs of("name = \"reverse\"\nlength = 6\nsymbols = 7");
  const Example example = of.made->dataset(Split::test)->get(0, 0);
  const auto members = of.each<double>(example);
  const Tensor<double> mean = of.outputs<double>(of.runs, example);
  const std::size_t classes = 7;
  double apart = 0;
  for (std::size_t row = 0; row < mean.size(); row += classes) {
    for (std::size_t c = 0; c < classes; ++c) {
      double expected = 0, logits = 0;
      for (const auto& one : members) {
        expected += std::exp(one.data()[row + c]) / sum_of_exp(one.data() + row, classes);
        logits += one.data()[row + c];
      }
      const double p = std::exp(mean.data()[row + c]) / sum_of_exp(mean.data() + row, classes);
      EXPECT_NEAR(p, expected / kMembers, 1e-12);
      apart = std::max(apart, std::abs(mean.data()[row + c] - logits / kMembers));
    }
  }
  EXPECT_GT(apart, 0.1) << "the mean of the logits would pass, too";
}

TEST(Ensemble, ProbabilitiesOfYesAreTheMean) {
  const std::vector<Tensor<double>> each = {{{0.5, -3, 40}}, {{-1, -2, -1}}, {{2, 0.1, 800}}};
  const Tensor<double> mean = ensemble_of(TargetKind::binary, each);
  for (std::size_t i = 0; i < 3; ++i) {
    double expected = 0;
    for (const auto& one : each) expected += 1 / (1 + std::exp(-one(0, i))) / 3;
    EXPECT_NEAR(1 / (1 + std::exp(-mean(0, i))), expected, 1e-12);
  }
}

TEST(Ensemble, NumbersAreTheMean) {
  const Runs of("name = \"mean_of_marked\"\nlength = 5");
  const Example example = of.made->dataset(Split::test)->get(0, 0);
  const auto members = of.each<double>(example);
  const Tensor<double> mean = of.outputs<double>(of.runs, example);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double expected = 0;
    for (const auto& one : members) expected += one.data()[i] / kMembers;
    EXPECT_NEAR(mean.data()[i], expected, 1e-12);
  }
}

TEST(Ensemble, EqualMembersKeepTheirBits) {
  for (const char* task : {"name = \"reverse\"", "name = \"ar2\"", "name = \"mean_of_marked\""}) {
    const Runs of(task);
    const auto data = of.made->dataset(Split::test);
    const std::vector<FoundRun> thrice(kMembers, of.runs[0]);
    for (std::size_t i = 0; i < 5; ++i) {
      const Example example = data->get(0, i);
      EXPECT_EQ(of.outputs<float>(thrice, example), of.each<float>(example)[0]) << task;
      EXPECT_EQ(of.outputs<double>(thrice, example), of.each<double>(example)[0]) << task;
    }
  }
  const Tensor<double> answers = {{0.1, -30.7, 800.3, 0}};
  EXPECT_EQ(ensemble_of<double>(TargetKind::binary, {answers, answers, answers}), answers);
}

// No exp() of these logits is a finite float.
TEST(Ensemble, LogitsMayBeLarge) {
  const Tensor<float> logits =
      ensemble_of<float>(TargetKind::classes, {{{1000, 0}}, {{0, 3000}}, {{90, 0}}});
  EXPECT_NEAR(logits(0, 0) - logits(0, 1), std::log(2.0), 1e-4);
}

// Greedy decoding and beam search beside the probabilities of each member alone.
TEST(Ensemble, MembersDecodeTogether) {
  const Runs of("name = \"distinct\"\nlength = 5\nsymbols = 5", "kind = \"encoder_decoder\"");
  const TaskShape shape = of.made->shape();
  const auto end = std::int32_t(shape.classes) - 1;
  const TrainedModel<double> ensemble(of.runs, shape);
  const NoGrad no_grad;
  for (std::size_t i = 0; i < 10; ++i) {
    Example example = of.made->dataset(Split::test)->get(0, i);
    const Batch batch = collate({example}, shape);
    const BatchInput<double> input(batch);
    const auto greedy = generate(*ensemble.model->decode(input.input()), end, shape.max_outputs);
    const auto beam =
        beam_search(*ensemble.model->decode(input.input()), end, shape.max_outputs, {.width = 3});
    const auto log_p = [&](const std::vector<std::int32_t>& classes, bool greedily) {
      example.targets = classes;
      const auto members = of.each<double>(example);
      double sum = 0;
      for (std::size_t m = 0; m < classes.size(); ++m) {
        std::vector<double> p(shape.classes);
        for (const auto& one : members) {
          const double* row = one.data() + m * shape.classes;
          for (std::size_t c = 0; c < p.size(); ++c) {
            p[c] += std::exp(row[c]) / sum_of_exp(row, p.size()) / kMembers;
          }
        }
        const double own = p[std::size_t(classes[m])];
        if (greedily) {
          EXPECT_EQ(own, *std::ranges::max_element(p));
        }
        sum += std::log(own);
      }
      return sum;
    };
    EXPECT_NEAR(greedy[0].log_probability, log_p(greedy[0].classes, true), 1e-9);
    for (const Hypothesis& one : beam) {
      EXPECT_NEAR(one.log_probability, log_p(one.classes, false), 1e-9);
    }
    EXPECT_GE(beam[0].log_probability, greedy[0].log_probability - 1e-9);
  }
}

TEST(Ensemble, HasNoActivations) {
  const Runs of("name = \"reverse\"");
  const TrainedModel<float> ensemble(of.runs, of.made->shape());
  const Batch batch = collate({of.made->dataset(Split::test)->get(0, 0)}, of.made->shape());
  ActivationObserver observer;
  Context context;
  context.activations = &observer;
  EXPECT_EQ(
      message_of<Error>([&] { (*ensemble.model)(BatchInput<float>(batch).input(), context); }),
      "an ensemble of 3 models has no activations and no attention of its own; load one of "
      "its runs");
}

std::string refusal(const std::vector<FoundRun>& runs) {
  return message_of<ConfigError>([&] { check_ensemble(runs); });
}

TEST(Ensemble, RunsMustBeOfOneTask) {
  const std::string task = "name = \"reverse\"\nlength = 6\nsymbols = 7";
  const Runs of(task);
  EXPECT_EQ(refusal(of.runs), "none");
  const auto refusal_with = [&](const Runs& other) {
    std::vector<FoundRun> runs = of.runs;
    runs[2].config = other.config;
    return refusal(runs);
  };
  EXPECT_EQ(refusal_with(Runs("name = \"sort\"")),
            "run2: has task.name = sort, but run0 has reverse; an ensemble needs the same in all "
            "runs");
  EXPECT_EQ(refusal_with(Runs("name = \"reverse\"\nlength = 5\nsymbols = 7")),
            "run2: has task.length = 5, but run0 has 6; an ensemble needs the same in all runs");
  EXPECT_EQ(refusal_with(Runs(task, "kind = \"encoder_decoder\"")),
            "run2: differs from run0 in its classes; an ensemble needs the same in all runs");
  EXPECT_EQ(refusal_with(Runs(task, "kind = \"mlp\"")), "none");
}

TEST(Ensemble, RunsMustHaveOneScalarType) {
  Runs of("name = \"reverse\"");
  of.runs[1].config.train.precision = "bf16";
  EXPECT_EQ(refusal(of.runs), "none");
  of.runs[1].config.train.precision = "double";
  EXPECT_EQ(refusal(of.runs),
            "run1: has train.precision = double, but run0 has float; an ensemble needs the same "
            "in all runs");
}

}  // namespace
}  // namespace xgrad
