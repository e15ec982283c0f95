#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <cmath>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/predict/predictor.hpp>

namespace xgrad {
namespace {

using test::message_of;
using test::TemporaryDirectory;

const std::string kModel =
    "[model]\nwidth = 16\nheads = 2\nlayers = 2\n[train]\nsteps = 1\nthreads = 2\n";

// A checkpoint of an untrained model, and inputs of different lengths for it.
struct Untrained {
  explicit Untrained(const std::string& task, const std::string& model = kModel)
      : config(parse_config("[task]\n" + task + "\n" + model, "test", {})),
        made(make_task(config)),
        path(directory / "model.h5") {
    Parameters<float> parameters(3);
    const auto network = make_model<float>(config, made->shape(), parameters);
    Checkpoint checkpoint;
    checkpoint.parameters = capture(parameters);
    checkpoint.config = to_toml(config);
    publish(directory.path(), "model.h5", to_hdf5(checkpoint));
    const auto data = made->dataset(Split::test);
    for (std::size_t i = 0; i < 40; ++i) examples.push_back(data->get(0, i));
  }

  TemporaryDirectory directory;
  Config config;
  std::unique_ptr<Task> made;
  std::string path;
  std::vector<Example> examples;
};

const Tensor<float>& logits_of(const Prediction& prediction) {
  return std::get<Tensor<float>>(prediction.logits);
}

bool same_bits(const Prediction& a, const Prediction& b) {
  return a.labels == b.labels && a.probabilities == b.probabilities && a.numbers == b.numbers &&
         logits_of(a) == logits_of(b);
}

const std::vector<std::string> kTasks = {
    "name = \"reverse\"\nlength = 9\nmin_length = 2",
    "name = \"majority\"\nlength = 21",
    "name = \"mean_of_marked\"\nlength = 5",
    "name = \"ar2\"",
    "name = \"shapes\"",
};

TEST(Predictor, IsTheModelItself) {
  for (const std::string& task : kTasks) {
    const Untrained saved(task);
    const TaskShape shape = saved.made->shape();
    Parameters<float> parameters(3);
    const auto network = make_model<float>(saved.config, shape, parameters);
    const auto answers = Predictor(saved.path)(saved.examples);
    for (std::size_t i = 0; i < saved.examples.size(); ++i) {
      const NoGrad no_grad;
      const Batch batch = collate({saved.examples[i]}, shape);
      const Tensor<float> logits = (*network)(BatchInput<float>(batch).input(), Context{}).value();
      ASSERT_EQ(logits.size(), logits_of(answers[i]).size()) << task;
      const float* answer = logits_of(answers[i]).data();
      for (std::size_t k = 0; k < logits.size(); ++k) {
        EXPECT_EQ(logits.data()[k], answer[k]) << task;
      }
    }
  }
}

TEST(Predictor, ProbabilitiesAreTheSoftmaxOfTheLogits) {
  const Untrained saved(kTasks[0]);
  for (const Prediction& answer : Predictor(saved.path)(saved.examples)) {
    const Tensor<float>& logits = logits_of(answer);
    const std::size_t count = logits.shape()[1];
    ASSERT_EQ(answer.labels.size(), logits.shape()[0]);
    for (std::size_t row = 0; row < answer.labels.size(); ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += std::exp(double(logits(row, k)));
      const double p = std::exp(double(logits(row, std::stoul(answer.labels[row])))) / sum;
      EXPECT_NEAR(answer.probabilities[row], p, 1e-12);
      EXPECT_GE(p, 1.0 / double(count) - 1e-6);
    }
  }
}

TEST(Predictor, NumbersAreNoLabels) {
  const Untrained saved(kTasks[2]);
  const Prediction answer = Predictor(saved.path)("0.5 1, -1 0, 2 1");
  EXPECT_TRUE(answer.labels.empty());
  EXPECT_TRUE(answer.probabilities.empty());
  EXPECT_EQ(answer.numbers, std::vector<double>{double(logits_of(answer)(0))});
}

// Alone, beside others, and on many threads at once, through one predictor.
TEST(Predictor, HasTheSameBitsOnEveryThread) {
  for (const std::string& task : kTasks) {
    const Untrained saved(task);
    const Predictor predictor(saved.path);
    std::vector<Prediction> alone;
    for (const Example& x : saved.examples) alone.push_back(predictor({x})[0]);
    std::vector<std::thread> threads;
    std::vector<std::vector<Prediction>> answers(6);
    for (std::size_t thread = 0; thread < answers.size(); ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < saved.examples.size(); ++i) {
          const std::size_t turned = (i + 7 * thread) % saved.examples.size();
          answers[thread].push_back(predictor({saved.examples[turned]})[0]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t thread = 0; thread < answers.size(); ++thread) {
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const std::size_t turned = (i + 7 * thread) % alone.size();
        EXPECT_TRUE(same_bits(answers[thread][i], alone[turned])) << task << ", example " << i;
      }
    }
  }
}

TEST(Predictor, GeneratedOutputsEndWhereTheModelEndsThem) {
  const Untrained saved("name = \"distinct\"\nlength = 5\nsymbols = 5",
                        "[model]\nkind = \"encoder_decoder\"\nwidth = 16\nheads = 2\nlayers = 1\n"
                        "[train]\nsteps = 1\n");
  const Predictor predictor(saved.path);
  const auto answers = predictor(saved.examples);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_TRUE(same_bits(answers[i], predictor({saved.examples[i]})[0]));
    const std::size_t rows = logits_of(answers[i]).shape()[0];
    EXPECT_GE(rows, answers[i].labels.size());
    EXPECT_LE(rows, answers[i].labels.size() + 1);
  }
}

// Batch norm looks at the samples beside one, which are an accident of how lines come in.
TEST(Predictor, OthersDoNotChangeAnAnswer) {
  const Untrained saved(kTasks[0],
                        "[model]\nwidth = 16\nheads = 2\nlayers = 1\n"
                        "normalization = \"batch\"\n[train]\nsteps = 1\n");
  const Predictor predictor(saved.path);
  const auto together = predictor(saved.examples);
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(same_bits(together[i], predictor({saved.examples[i]})[0])) << i;
  }
}

TEST(Predictor, RefusesWhatIsNoInput) {
  const Untrained saved(kTasks[0]);
  const Predictor predictor(saved.path);
  EXPECT_EQ(message_of<DataError>([&] { predictor("1 2 10"); }).substr(0, 7), "reverse");
  EXPECT_NE(message_of<DataError>([&] { predictor(""); }), "");
  EXPECT_TRUE(predictor(std::vector<Example>{}).empty());
  EXPECT_NE(message_of<IoError>([&] { Predictor((saved.directory / "none.h5")); }), "");
}

}  // namespace
}  // namespace xgrad
