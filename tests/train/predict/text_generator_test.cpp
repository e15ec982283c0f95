// Sampling: the distribution of what is drawn, and texts that depend on nothing but their seed.
#include <xgrad/train/predict/predictor.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/statistics.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

using test::TemporaryDirectory;

constexpr std::size_t kClasses = 9;

// Counts of draws, and those expected from softmax(logits / temperature) without <unk>.
void expect_softmax(const std::vector<double>& logits, double temperature) {
  constexpr std::size_t kDraws = 20000;
  const Rng rng = Rng(11) / "draws";
  std::vector<double> counts(kClasses), expected(kClasses);
  for (std::size_t i = 0; i < kDraws; ++i) {
    counts[std::size_t(sample(logits.data(), kClasses, temperature, rng.uniform(i)))] += 1;
  }
  double sum = 0;
  for (std::size_t c = 1; c < kClasses; ++c) sum += std::exp(logits[c] / temperature);
  for (std::size_t c = 1; c < kClasses; ++c) {
    expected[c] = double(kDraws) * std::exp(logits[c] / temperature) / sum;
  }
  EXPECT_TRUE(test::counts_fit(counts, expected)) << "temperature " << temperature;
  EXPECT_EQ(counts[0], 0);
}

TEST(Sampling, DrawsFromTheSoftmaxOfTheLogits) {
  const std::vector<double> logits = {3, -1, 0.5, 2, 1.9, -3, 0, 1, 2.2};  // that of <unk> first
  for (const double temperature : {0.5, 0.8, 1.0, 2.0}) expect_softmax(logits, temperature);
}

TEST(Sampling, IsTheInverseOfTheDistributionFunction) {
  const std::vector<double> logits = {0, std::log(1.0), std::log(2.0), std::log(5.0)};
  const auto drawn = [&](double u) { return sample(logits.data(), 4, 1.0, u); };
  EXPECT_EQ(drawn(0), 1);
  EXPECT_EQ(drawn(0.124), 1);
  EXPECT_EQ(drawn(0.126), 2);
  EXPECT_EQ(drawn(0.374), 2);
  EXPECT_EQ(drawn(0.376), 3);
  EXPECT_EQ(drawn(1 - 0x1p-53), 3);
}

TEST(Sampling, TemperatureZeroIsTheLikeliest) {
  const std::vector<float> logits = {9, 1, 4, 4, 3};
  for (const double u : {0.0, 0.3, 0.999}) EXPECT_EQ(sample(logits.data(), 5, 0, u), 2);
  // As the limit of small temperatures, without overflow.
  const std::vector<float> apart = {0, 1000, -1000, 999};
  for (const double u : {0.0, 0.3, 0.999}) EXPECT_EQ(sample(apart.data(), 4, 1e-3, u), 1);
}

// A language model with random weights, and its checkpoint.
struct Untrained {
  explicit Untrained(const std::string& more = "") {
    directory.write("text.txt",
                    "the sun rose\nthe sun set\nno sun\nso the set\none two\ntwo one\nthree\n"
                    "hush now\nshe runs\nhe set the sun\nun sun\nnot one\nthe rest\nsee\n"
                    "seen\nonto\nother\nhero\nshun\nhuns\n");
    config = parse_config(
        "[task]\nname = 'files'\nformat = 'lines'\ntokens = 'characters'\nlabels = 'next'\n"
        "unknown = 0.0\nmax_length = 16\ntrain = '" +
            (directory / "text.txt") + "'\n" +
            "[model]\nwidth = 16\nheads = 2\nlayers = 2\nmask = 'causal'\npositions = 'learned'\n" +
            more + "[train]\nsteps = 1\n",
        "test", {});
    task = make_task(config);
    Parameters<float> parameters(3);
    model = make_model<float>(config, task->shape(), parameters);
    for (const Parameter<float>& p : parameters) {
      p.variable.mutable_value() +=
          cast<float>(test::random_tensor(p.variable.shape(), Rng(4) / p.name, -0.3, 0.3));
    }
    Checkpoint checkpoint;
    checkpoint.parameters = capture(parameters);
    checkpoint.config = to_toml(config);
    checkpoint.state[kLearned] = task->vocabulary_and_scales();
    publish(directory.path(), "model.h5", to_hdf5(checkpoint));
  }

  std::string path() const { return directory / "model.h5"; }

  // The text by passes over all tokens that the model reads, without a cache. Where 16 tokens are
  // read, the last 8 remain.
  std::string written_anew(const std::string& beginning, std::size_t most, const Sampling& how,
                           bool* ended) const {
    std::vector<std::int32_t> text = task->parse(beginning).ids;
    std::string result;
    std::size_t begin = 0;
    for (*ended = false; most > 0; --most) {
      if (text.size() - begin > 16) begin = text.size() - 8;
      Batch batch = collate({Example{.ids = {text.begin() + std::ptrdiff_t(begin), text.end()}}},
                            task->shape());
      const Tensor<float> logits = (*model)(BatchInput<float>(batch).input(), {}).value();
      const std::size_t classes = logits.shape()[2];
      const std::int32_t next =
          sample(logits.data() + logits.size() - classes, classes, how.temperature,
                 (Rng(how.seed) / "generate").uniform(text.size()));
      if (next == kEndId) {
        *ended = true;
        break;
      }
      result += task->token_text(next);
      text.push_back(next);
    }
    return result;
  }

  TemporaryDirectory directory;
  Config config;
  std::unique_ptr<Task> task;
  std::unique_ptr<SequenceModel<float>> model;
};

TEST(TextGenerator, GeneratesWhatPassesOverAllTokensWouldOnAnyNumberOfThreads) {
  const Untrained saved;
  const TextGenerator generator({saved.path()});
  const int before = threads();
  std::size_t ends = 0, longest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Sampling how{seed % 4 == 0 ? 0 : 0.7, seed};
    const std::string beginning = seed % 2 == 0 ? "the s" : "";
    bool expected_end = false;
    const std::string expected = saved.written_anew(beginning, 60, how, &expected_end);
    for (const int count : {1, 3}) {
      set_threads(count);
      std::string text;
      const bool ended =
          generator.generate(beginning, 60, how, [&](const std::string& s) { text += s; });
      EXPECT_EQ(text, expected) << "seed " << seed;
      EXPECT_EQ(ended, expected_end) << "seed " << seed;
    }
    ends += expected_end;
    longest = std::max(longest, expected.size());
  }
  set_threads(before);
  EXPECT_GT(ends, 2u);
  EXPECT_GT(longest, 20u) << "no text was longer than what the model reads at once";
}

TEST(TextGenerator, SaysWhatIsWrong) {
  const Untrained saved;
  const TextGenerator generator({saved.path()});
  const auto ignore = [](const std::string&) {};
  EXPECT_EQ(test::message_of<DataError>([&] { generator.generate("sun?", 5, {}, ignore); }),
            "files: the character \"?\" is not in the vocabulary of the training rows");
}

}  // namespace
}  // namespace xgrad
