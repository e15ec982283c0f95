// Greedy decoding and beam search, against searches written down here that know nothing but the
// logits of a model under teacher forcing.
#include <xgrad/layers/models/generate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <xgrad/layers/models/models.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

using test::random_ids;
using Classes = std::vector<std::int32_t>;

const Rng kRng = Rng(22) / "generate";
constexpr std::size_t kClasses = 4, kLongest = 5;
constexpr std::int32_t kEnd = kClasses - 1;

// A model with large random weights, whose choices are far from even, and inputs for it.
struct Writer {
  explicit Writer(std::uint64_t seed) : parameters(seed), model(parameters.root(), options()) {
    for (const Parameter<double>& p : parameters) {
      p.variable.mutable_value() +=
          test::random_tensor(p.variable.shape(), Rng(seed) / p.name, -0.8, 0.8);
    }
    ids = random_ids({1, 4}, Rng(seed) / "ids", 7);
    input.ids = &ids;
  }

  static EncoderDecoderOptions options() {
    EncoderDecoderOptions o;
    o.input = {.vocabulary = 7, .max_length = 4};
    o.encoder.layers = 1;
    o.encoder.attention = {.width = 8, .heads = 2};
    o.classes = kClasses;
    o.max_outputs = kLongest;
    return o;
  }

  // log P(class | classes before), by a pass over all of them.
  std::vector<double> next(const Classes& before) const {
    Ids outputs = zeros<std::int32_t>({1, before.size() + 1});
    std::copy(before.begin(), before.end(), outputs.data());
    ModelInput<double> all = input;
    all.outputs = &outputs;
    const Tensor<double> logits = model(all, {}).value();
    std::vector<double> result;
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(logits(0, before.size(), c));
    for (std::size_t c = 0; c < kClasses; ++c) {
      result.push_back(std::log(std::exp(logits(0, before.size(), c)) / sum));
    }
    return result;
  }

  std::vector<Hypothesis> beam(std::size_t width, double penalty) const {
    return beam_search(*model.decode(input), kEnd, kLongest, {width, penalty});
  }

  Parameters<double> parameters;
  EncoderDecoderModel<double> model;
  Ids ids;
  ModelInput<double> input;
};

bool complete(const Classes& classes) {
  return classes.size() == kLongest || (!classes.empty() && classes.back() == kEnd);
}

double score(const Hypothesis& h, double penalty) {
  return h.log_probability / std::pow(double(h.classes.size()), penalty);
}

// All outputs that end, or are as long as an output can be.
void enumerate(const Writer& writer, const Hypothesis& from, std::vector<Hypothesis>& all) {
  const std::vector<double> next = writer.next(from.classes);
  for (std::int32_t c = 0; c < std::int32_t(kClasses); ++c) {
    Hypothesis h = from;
    h.classes.push_back(c);
    h.log_probability += next[std::size_t(c)];
    complete(h.classes) ? all.push_back(h) : enumerate(writer, h, all);
  }
}

void sort_by_score(std::vector<Hypothesis>& all, double penalty) {
  std::stable_sort(all.begin(), all.end(), [=](const Hypothesis& a, const Hypothesis& b) {
    return score(a, penalty) > score(b, penalty);
  });
}

void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].classes, expected[i].classes) << i;
    EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-11) << i;
  }
}

// 1 + 3 + 9 + 27 outputs that end after 1 to 4 classes, and 81 times 4 of 5 classes.
TEST(BeamSearch, ABeamThatIsWideEnoughFindsAllOutputsInOrder) {
  for (const double penalty : {0.0, 0.7, 1.0}) {
    const Writer writer(1);
    std::vector<Hypothesis> all;
    enumerate(writer, {}, all);
    ASSERT_EQ(all.size(), 40u + 324u);
    double total = 0;
    for (const Hypothesis& h : all) total += std::exp(h.log_probability);
    EXPECT_NEAR(total, 1, 1e-12);
    sort_by_score(all, penalty);
    expect_same(writer.beam(364, penalty), all);
    all.resize(1);
    expect_same({writer.beam(364, penalty)[0]}, all);
  }
}

TEST(BeamSearch, IsTheOneWrittenDownHere) {
  int better = 0, ended_early = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Writer writer(seed);
    for (const double penalty : {0.0, 1.0}) {
      for (const std::size_t width : {1, 2, 3, 5}) {
        std::vector<Hypothesis> beam(1);
        for (std::size_t length = 0; length < kLongest; ++length) {
          std::vector<Hypothesis> longer;
          for (const Hypothesis& h : beam) {
            if (complete(h.classes)) longer.push_back(h);
            for (std::size_t c = 0; c < kClasses && !complete(h.classes); ++c) {
              longer.push_back({h.classes, h.log_probability + writer.next(h.classes)[c]});
              longer.back().classes.push_back(std::int32_t(c));
            }
          }
          sort_by_score(longer, penalty);
          longer.resize(std::min(longer.size(), width));
          beam = longer;
        }
        const std::vector<Hypothesis> found = writer.beam(width, penalty);
        expect_same(found, beam);
        ended_early += found[0].classes.size() < kLongest;
        better += found[0].log_probability > writer.beam(1, 0)[0].log_probability + 1e-9;
      }
    }
  }
  EXPECT_GT(better, 5);  // a wider beam finds what greedy decoding misses
  EXPECT_GT(ended_early, 20);
}

TEST(BeamSearch, OneHypothesisIsGreedy) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Writer writer(seed);
    Hypothesis greedy;
    while (!complete(greedy.classes)) {
      const std::vector<double> next = writer.next(greedy.classes);
      const auto best = std::max_element(next.begin(), next.end());
      greedy.classes.push_back(std::int32_t(best - next.begin()));
      greedy.log_probability += *best;
    }
    expect_same(writer.beam(1, 1.0), {greedy});
    const auto generated = generate(*writer.model.decode(writer.input), kEnd, kLongest);
    ASSERT_EQ(generated.size(), 1u);
    EXPECT_EQ(generated[0].classes, greedy.classes);
    EXPECT_NEAR(generated[0].log_probability, greedy.log_probability, 1e-11);
    EXPECT_EQ(generated[0].logits.shape(), (Shape{greedy.classes.size(), kClasses}));
  }
}

// Rows that end leave the batch, and do not change those that stay.
TEST(Generate, EachRowOfABatchIsDecodedAsIfAlone) {
  std::size_t shortest = kLongest, longest = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Writer writer(seed);
    const Ids ids = random_ids({12, 4}, kRng / seed, 7);
    ModelInput<double> input;
    input.ids = &ids;
    const auto together = generate(*writer.model.decode(input), kEnd, kLongest);
    for (std::size_t b = 0; b < 12; ++b) {
      Ids one = empty<std::int32_t>({1, 4});
      std::copy_n(ids.data() + 4 * b, 4, one.data());
      input.ids = &one;
      const auto alone = generate(*writer.model.decode(input), kEnd, kLongest);
      EXPECT_EQ(together[b].classes, alone[0].classes) << b;
      EXPECT_EQ(together[b].log_probability, alone[0].log_probability) << b;
      EXPECT_TRUE(test::same_bits(together[b].logits, alone[0].logits)) << b;
      shortest = std::min(shortest, together[b].classes.size());
      longest = std::max(longest, together[b].classes.size());
    }
  }
  EXPECT_LT(shortest, longest);
}

// A model that keeps nothing is run on the whole output for each class.
TEST(Generate, AModelOfTheProgramNeedsNoCache) {
  struct Counting final : SequenceModel<double> {
    // Class 0 until there are three, then the end.
    Variable<double> operator()(const ModelInput<double>& input, const Context&) const override {
      const Shape& shape = input.outputs->shape();
      Tensor<double> logits = zeros<double>({shape[0], shape[1], kClasses});
      for (std::size_t b = 0; b < shape[0]; ++b) {
        for (std::size_t n = 0; n < shape[1]; ++n) logits(b, n, n < 3 ? 0 : kEnd) = 1;
      }
      return Variable<double>(logits);
    }
  };
  const Writer writer(1);
  const Counting model;
  const auto outputs = generate(*model.decode(writer.input), kEnd, 5);
  EXPECT_EQ(outputs[0].classes, (Classes{0, 0, 0, kEnd}));
}

}  // namespace
}  // namespace xgrad
