#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/models/models.hpp>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::lengths;
using test::random_ids;
using test::random_tensor;

const Rng kRng = Rng(14) / "model";

EncoderModelOptions token_options(Pool pool) {
  EncoderModelOptions o;
  o.input.vocabulary = 7;
  o.input.max_length = 5;
  o.encoder.layers = 2;
  o.encoder.attention = {.width = 8, .heads = 2};
  o.encoder.feedforward = 12;
  o.pool = pool;
  o.classes = 3;
  return o;
}

EncoderModelOptions image_options() {
  EncoderModelOptions o = token_options(Pool::cls);
  o.input = {.patch = 2, .height = 4, .width = 6, .channels = 3};
  return o;
}

// A loss of a token or image model in any scalar, for the gradient checker.
template <class T>
struct Problem {
  Problem(const EncoderModelOptions& options, const Ids* ids, const Tensor<double>* image,
          std::shared_ptr<const Mask> mask, const Ids& targets)
      : parameters(3), model(parameters.root(), options), targets(targets) {
    input.ids = ids;
    if (image != nullptr) {
      features = cast<T>(*image);
      input.features = &features;
    }
    input.mask = std::move(mask);
    gradient.leaves.assign(parameters.begin(), parameters.end());
    gradient.f = [this] {
      return cross_entropy(model(input, Context{true, kRng, 0}), this->targets, {});
    };
  }
  Parameters<T> parameters;
  EncoderModel<T> model;
  Tensor<T> features;
  ModelInput<T> input;
  Ids targets;
  GradientProblem<T> gradient;
};

void expect_gradients(const EncoderModelOptions& options, const Ids* ids,
                      const Tensor<double>* image, const std::shared_ptr<const Mask>& mask,
                      const Ids& targets) {
  const Problem<double> problem(options, ids, image, mask, targets);
  const Problem<long double> reference(options, ids, image, mask, targets);
  GradcheckOptions gate;
  gate.tolerance = 1e-11;
  gate.entry_tolerance = 1e-9;
  const GradientReport report = check_gradients(problem.gradient, reference.gradient, gate);
  EXPECT_TRUE(report.ok()) << report.table();
}

TEST(Model, GradientsWithRaggedMasksInEveryNormOrderAndKind) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  Ids targets = random_ids({3, 5}, kRng / "targets", 3);
  targets(1, 4) = targets(2, 2) = targets(2, 3) = targets(2, 4) = -100;
  for (const NormOrder norm :
       {NormOrder::pre, NormOrder::post, NormOrder::sandwich, NormOrder::none}) {
    for (const Normalization kind : {Normalization::layer, Normalization::rms}) {
      SCOPED_TRACE(testing::Message() << "order " << int(norm) << ", kind " << int(kind));
      EncoderModelOptions options = token_options(Pool::none);
      options.encoder.norm = norm;
      options.encoder.normalization = kind;
      options.encoder.dropout = 0.2;
      options.encoder.attention.dropout = 0.1;
      expect_gradients(options, &ids, nullptr, lengths({5, 4, 2}, 5), targets);
    }
  }
}

TEST(Model, GradientsWithEveryActivation) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  const Ids targets = random_ids({3, 5}, kRng / "targets", 3);
  for (const Activation activation :
       {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::silu}) {
    SCOPED_TRACE(testing::Message() << "activation " << int(activation));
    EncoderModelOptions options = token_options(Pool::none);
    options.encoder.activation = activation;
    expect_gradients(options, &ids, nullptr, nullptr, targets);
  }
}

TEST(Model, GradientsWithStablemax) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  EncoderModelOptions options = token_options(Pool::none);
  options.stablemax = true;
  expect_gradients(options, &ids, nullptr, nullptr, random_ids({3, 5}, kRng / "targets", 3));
}

TEST(Model, GradientsWithPositionsOfEveryKind) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  const Ids targets = random_ids({3, 5}, kRng / "targets", 3);
  for (const PositionKind kind :
       {PositionKind::none, PositionKind::sinusoidal, PositionKind::relative_index,
        PositionKind::rotary, PositionKind::alibi, PositionKind::relative_bias}) {
    SCOPED_TRACE(testing::Message() << "positions " << int(kind));
    EncoderModelOptions options = token_options(Pool::none);
    options.input.positions = options.encoder.attention.positions = kind;
    options.encoder.attention.max_distance = 2;
    expect_gradients(options, &ids, nullptr, lengths({5, 4, 2}, 5), targets);
  }
}

TEST(Model, GradientsOfPooledHeads) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  const Ids targets = random_ids({3}, kRng / "classes", 3);
  for (const Pool pool : {Pool::cls, Pool::mean, Pool::max, Pool::attention}) {
    SCOPED_TRACE(testing::Message() << "pool " << int(pool));
    expect_gradients(token_options(pool), &ids, nullptr, lengths({5, 4, 2}, 5), targets);
  }
}

TEST(Model, S4_2_GradientsOfOneHotInput) {
  const Ids ids = random_ids({3, 5}, kRng, 7);
  EncoderModelOptions options = token_options(Pool::mean);
  options.input.one_hot = true;
  expect_gradients(options, &ids, nullptr, lengths({5, 4, 2}, 5),
                   random_ids({3}, kRng / "classes", 3));
}

TEST(Model, S2_15_GradientsOfAModelOfVectors) {
  const Tensor<double> vectors = random_tensor({3, 5, 4}, kRng);
  EncoderModelOptions options = token_options(Pool::cls);
  options.input = {.max_length = 5};
  options.input.vector = 4;
  expect_gradients(options, nullptr, &vectors, lengths({5, 4, 2}, 5),
                   random_ids({3}, kRng / "classes", 3));
}

TEST(Model, GradientsOfAnImageModel) {
  const Tensor<double> image = random_tensor({2, 4, 6, 3}, kRng);
  const Ids targets = random_ids({2}, kRng / "classes", 3);
  for (const PositionKind kind : {PositionKind::learned, PositionKind::learned_2d}) {
    EncoderModelOptions options = image_options();
    options.input.positions = kind;
    expect_gradients(options, nullptr, &image, nullptr, targets);
  }
}

TEST(Model, S4_1_PaddingChangesNothing) {
  const EncoderModelOptions options = token_options(Pool::mean);
  Parameters<double> parameters(3);
  const EncoderModel<double> model(parameters.root(), options);
  Ids padded = random_ids({2, 5}, kRng, 7);
  Ids alone = empty<std::int32_t>({1, 3});
  std::copy_n(padded.data() + 5, 3, alone.data());
  const Tensor<double> both = model({&padded, nullptr, lengths({5, 3}, 5)}, {}).value();
  const Tensor<double> one = model({&alone, nullptr, nullptr}, {}).value();
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(both(1, c), one(0, c), 1e-12);
}

TEST(Model, S4_6_PaddedTokensDoNotChangeTheMean) {
  const EncoderModelOptions options = token_options(Pool::mean);
  Parameters<double> parameters(3);
  const EncoderModel<double> model(parameters.root(), options);
  Ids ids = random_ids({2, 5}, kRng, 7);
  const auto mask = lengths({5, 3}, 5);
  const Tensor<double> before = model({&ids, nullptr, mask}, {}).value();
  ids(1, 3) = (ids(1, 3) + 1) % 7;
  ids(1, 4) = (ids(1, 4) + 1) % 7;
  EXPECT_TRUE(test::same_bits(model({&ids, nullptr, mask}, {}).value(), before));
}

TEST(Model, AMaskOfOnesEqualsNone) {
  const EncoderModelOptions options = token_options(Pool::cls);
  Parameters<double> parameters(3);
  const EncoderModel<double> model(parameters.root(), options);
  const Ids ids = random_ids({2, 5}, kRng, 7);
  EXPECT_TRUE(test::same_bits(model({&ids, nullptr, lengths({5, 5}, 5)}, {}).value(),
                              model({&ids, nullptr, nullptr}, {}).value()));
}

TEST(Model, S0_1_TheClassTokenStandsBeforeThePatches) {
  InputOptions o{.patch = 2, .height = 4, .width = 4, .channels = 1};
  o.features = 4;
  o.class_token = true;
  Parameters<double> parameters(1);
  const InputEmbedding<double> embed(parameters.root() / "embedding", o);
  const auto fill = [&](const std::string& name, double value) {
    Tensor<double>& t = parameters.at(name).mutable_value();
    std::fill_n(t.data(), t.size(), value);
  };
  fill("embedding.position.weight", 0);
  fill("embedding.patch.bias", 0);
  fill("embedding.patch.weight", 0);
  for (std::size_t i = 0; i < 4; ++i)
    parameters.at("embedding.patch.weight").mutable_value()(i, i) = 1;

  const Tensor<double> image = random_tensor({2, 4, 4, 1}, kRng);
  const Variable<double> x = embed({nullptr, &image, nullptr});
  ASSERT_EQ(x.shape(), (Shape{2, 5, 4}));
  const Tensor<double> patches = patchify(image, 2);
  const Tensor<double>& c = parameters.at("embedding.class_token").value();
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_TRUE(std::equal(c.data(), c.data() + 4, x.value().data() + b * 20));
    EXPECT_TRUE(std::equal(patches.data() + b * 16, patches.data() + b * 16 + 16,
                           x.value().data() + b * 20 + 4));
  }
  const Tensor<double> dy = random_tensor({2, 5, 4}, kRng / "dy");
  x.backward(dy);  // the class token's gradient is the sum over the batch of row 0
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_DOUBLE_EQ(parameters.at("embedding.class_token").grad()(d), dy(0, 0, d) + dy(1, 0, d));
  }
}

TEST(Model, S0_2_EveryPatchReachesTheLogits) {
  Parameters<double> parameters(3);
  const EncoderModel<double> model(parameters.root(), image_options());
  Tensor<double> image = random_tensor({1, 4, 6, 3}, kRng);
  const Tensor<double> before = model({nullptr, &image, nullptr}, {}).value();
  for (std::size_t row = 0; row < 4; row += 2) {
    for (std::size_t column = 0; column < 6; column += 2) {
      Tensor<double> other = image;
      other(0, row, column, 1) += 1;
      EXPECT_FALSE(test::tensors_near(model({nullptr, &other, nullptr}, {}).value(), before, 1e-9));
    }
  }
}

TEST(Model, TooManyTokensAreRefused) {
  Parameters<float> parameters(3);
  const EncoderModel<float> model(parameters.root(), token_options(Pool::none));
  const Ids ids = zeros<std::int32_t>({1, 6});
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] {
        model({&ids, nullptr, nullptr}, {});
      },
      "expected at most 5 tokens, got 6"));
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { model({}, {}); }, "expected token ids"));
}

TEST(Model, TheSameBitsOnAnyNumberOfThreads) {
  EncoderModelOptions options = token_options(Pool::none);
  options.input.max_length = 40;
  options.encoder.attention = {.width = 64, .heads = 4, .dropout = 0.1};
  options.encoder.feedforward = 256;
  options.encoder.dropout = 0.1;
  const Ids ids = random_ids({40, 40}, kRng, 7);
  const Ids targets = random_ids({40, 40}, kRng / "targets", 3);
  const int before = threads();
  std::vector<Tensor<float>> first;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    Parameters<float> parameters(3);
    const EncoderModel<float> model(parameters.root(), options);
    cross_entropy(model({&ids, nullptr, nullptr}, {true, kRng, 0}), targets).backward();
    std::size_t i = 0;
    for (const Parameter<float>& p : parameters) {
      if (count == 1) {
        first.push_back(p.variable.grad());
      } else {
        EXPECT_TRUE(test::same_bits(p.variable.grad(), first[i++])) << p.name << " on " << count;
      }
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace xgrad
