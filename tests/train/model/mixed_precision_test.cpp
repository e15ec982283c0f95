// train.precision = "bf16" on whole models: gradients beside those of float.
#include <xgrad/train/model/build.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <xgrad/layers/models/generate.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>

#include "support/source_tree.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

// A model with its gradients after forward and backward of a batch.
template <class T>
struct Differentiated {
  Differentiated(Config config, const std::string& precision, const TaskShape& shape,
                 const std::vector<Batch>& batches)
      : parameters(config.train.seed) {
    config.train.precision = precision;
    model = make_model<T>(config, shape, parameters);
    const SeeLoss<T> see = [this](const TrainingLoss<T>& of, const Batch&) {
      loss = double(of.minimised.value().data()[0]);
    };
    forward_backward(*model, make_objective(config.train, shape), batches,
                     Context::train(config.train.seed, /*step=*/0), see);
  }

  Parameters<T> parameters;
  std::unique_ptr<SequenceModel<T>> model;
  double loss = 0;
};

std::vector<Batch> first_examples(const Task& task, std::size_t count) {
  const auto data = task.dataset(Split::train);
  std::vector<Example> examples;
  for (std::size_t i = 0; i < std::min(count, data->size()); ++i) {
    examples.push_back(data->get(0, i));
  }
  return {collate(examples, task.shape())};
}

struct Sums {
  double own = 0, other = 0, both = 0, difference = 0;
};

Sums sums_of(const Tensor<float>& x, const Tensor<float>& y) {
  Sums sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x.data()[i], b = y.data()[i];
    sums.own += a * a;
    sums.other += b * b;
    sums.both += a * b;
    sums.difference += (a - b) * (a - b);
  }
  return sums;
}

// By how much the norm of a gradient may differ from that in float. In four configs the gradients
// of the outputs of a batch nearly cancel in their sum, the gradient of the last bias (1 to 6 % of
// the norm of all gradients); the differences seen in biases were 2.7, 1.5, 1.3 and 1.7 %. Weights
// written by hand and their noise leave the outputs at chance, so that gradients nearly cancel
// everywhere: 1 to 3 % in weights, 13 % in a bias that has 0.6 % of the norm.
double norm_tolerance(const std::string& config) {
  const std::map<std::string, double> exceptions = {{"majority_longer", 0.06},
                                                    {"mean_of_marked", 0.03},
                                                    {"motif", 0.03},
                                                    {"odds_first", 0.03},
                                                    {"parity_from_solution", 0.15}};
  const auto found = exceptions.find(std::filesystem::path(config).stem().string());
  return found == exceptions.end() ? 0.01 : found->second;
}

// A tensor with more than a thousandth of the norm of all gradients has the direction and the
// length that it has in float; a smaller one is off by less than that thousandth.
void expect_close_gradients(const std::string& path) {
  const Config config = load_config(path, {});
  const auto task = make_task(config);
  const auto batches = first_examples(*task, config.train.batch);
  const Differentiated<float> bf16(config, "bf16", task->shape(), batches);
  const Differentiated<float> exact(config, "float", task->shape(), batches);
  EXPECT_NE(bf16.loss, exact.loss) << "bf16 has no effect";
  EXPECT_NEAR(bf16.loss, exact.loss, 0.01 * std::abs(exact.loss));

  double square = 0;
  for (const Parameter<float>& p : exact.parameters) {
    if (p.variable.has_grad()) square += sums_of(p.variable.grad(), p.variable.grad()).own;
  }
  const double norm = std::sqrt(square);
  ASSERT_GT(norm, 0);
  for (const Parameter<float>& p : exact.parameters) {
    const Variable<float>& other = bf16.parameters.at(p.name);
    ASSERT_EQ(other.has_grad(), p.variable.has_grad()) << p.name;
    if (!other.has_grad()) continue;
    const Sums sums = sums_of(other.grad(), p.variable.grad());
    const double length = std::sqrt(sums.other);
    if (length > 1e-3 * norm) {
      EXPECT_GE(sums.both, 0.999 * std::sqrt(sums.own) * length) << p.name;
      EXPECT_NEAR(std::sqrt(sums.own), length, norm_tolerance(path) * length) << p.name;
    } else {
      EXPECT_LE(std::sqrt(sums.difference), 1e-3 * norm) << p.name;
    }
  }
}

class ShippedConfigInBf16 : public testing::TestWithParam<std::string> {};

TEST_P(ShippedConfigInBf16, HasTheGradientsOfFloat) {
  expect_close_gradients(GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, ShippedConfigInBf16, testing::ValuesIn(test::shipped_configs()),
                         [](const auto& each) {
                           return std::filesystem::path(each.param).stem().string();
                         });

Config small(const std::vector<std::string>& overrides) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 12\nmin_length = 5\nsymbols = 8\ntest = 50\n"
      "validation = 50\n[model]\nwidth = 32\nheads = 2\nlayers = 2\ndropout = 0.1\n"
      "[train]\nsteps = 12\nbatch = 24\nprecision = 'bf16'\n",
      "test", overrides);
}

std::vector<NamedTensor> trained(const std::vector<std::string>& overrides) {
  Trainer<float> trainer(small(overrides));
  for (int i = 0; i < 12; ++i) trainer.train_step();
  return trainer.capture().parameters;
}

void expect_same_weights(const std::vector<NamedTensor>& x, const std::vector<NamedTensor>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(
        test::same_bits(std::get<Tensor<float>>(x[i].tensor), std::get<Tensor<float>>(y[i].tensor)))
        << x[i].name;
  }
}

TEST(MixedPrecision, RecomputeTrainsToTheSameBits) {
  expect_same_weights(trained({"train.recompute=true"}), trained({}));
}

TEST(MixedPrecision, ResumeTrainsToTheSameBits) {
  Trainer<float> first(small({}));
  for (int i = 0; i < 5; ++i) first.train_step();
  const Checkpoint saved = first.capture();
  Trainer<float> second(small({}), &saved);
  for (int i = 0; i < 7; ++i) second.train_step();
  expect_same_weights(second.capture().parameters, trained({}));
}

TEST(MixedPrecision, TrainsToOtherBitsThanFloat) {
  const auto bf16 = trained({}), exact = trained({"train.precision=float"});
  bool same = true;
  for (std::size_t i = 0; i < bf16.size(); ++i) {
    same = same && bool(test::same_bits(std::get<Tensor<float>>(bf16[i].tensor),
                                        std::get<Tensor<float>>(exact[i].tensor)));
  }
  EXPECT_FALSE(same);
}

// Padding behind an example does not reach its logits: they are those of the example alone, up to
// the order of additions.
TEST(MixedPrecision, PaddingHasNoEffect) {
  const Config config = small({});
  const auto task = make_task(config);
  const auto data = task->dataset(Split::train);
  Example shortest = data->get(0, 0), longest = shortest;
  for (std::size_t i = 1; i < 50; ++i) {
    const Example other = data->get(0, i);
    if (other.ids.size() < shortest.ids.size()) shortest = other;
    if (other.ids.size() > longest.ids.size()) longest = other;
  }
  ASSERT_LT(shortest.ids.size(), longest.ids.size());
  const NoGrad no_grad;
  Parameters<float> parameters(1);
  const auto model = make_model<float>(config, task->shape(), parameters);
  const auto logits = [&](const std::vector<Example>& examples) {
    const Batch batch = collate(examples, task->shape());
    return (*model)(BatchInput<float>(batch).input(), Context{}).value();
  };
  const Tensor<float> alone = logits({shortest}), padded = logits({shortest, longest});
  for (std::size_t n = 0; n < shortest.ids.size(); ++n) {
    for (std::size_t c = 0; c < alone.shape()[2]; ++c) {
      EXPECT_NEAR(alone(0, n, c), padded(0, n, c), 1e-3) << n;
    }
  }
}

// An output that grows class by class has the logits of the whole output, to the bit, and not those
// of float.
TEST(MixedPrecision, DecodingHasTheLogitsOfTheModel) {
  const Config config = load_config(test::source_path("configs/distinct.toml"), {});
  const auto task = make_task(config);
  const NoGrad no_grad;
  const std::vector<std::int32_t> outputs{2, 0, 1};
  const auto decoded = [&](const std::string& precision, bool cached) {
    Config own = config;
    own.train.precision = precision;
    Parameters<float> parameters(1);
    const auto model = make_model<float>(own, task->shape(), parameters);
    const Batch batch = collate({task->dataset(Split::train)->get(0, 0)}, task->shape());
    const BatchInput<float> input(batch);
    const auto decoding =
        cached ? model->decode(input.input()) : without_cache(*model, input.input());
    std::vector<Tensor<float>> logits{decoding->logits()};
    for (const std::int32_t output : outputs) {
      decoding->append({output});
      logits.push_back(decoding->logits());
    }
    return logits;
  };
  const auto cached = decoded("bf16", true), whole = decoded("bf16", false);
  const auto exact = decoded("float", true);
  for (std::size_t i = 0; i <= outputs.size(); ++i) {
    EXPECT_TRUE(test::same_bits(cached[i], whole[i])) << i;
    EXPECT_FALSE(test::same_bits(cached[i], exact[i])) << i;
  }
}

}  // namespace
}  // namespace xgrad
