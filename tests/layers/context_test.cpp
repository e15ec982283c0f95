#include <gtest/gtest.h>

#include <xgrad/layers/layers.hpp>
#include <xgrad/layers/models/models.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

EncoderModelOptions small_options() {
  EncoderModelOptions options;
  options.input.vocabulary = 5;
  options.input.max_length = 4;
  options.encoder.layers = 1;
  options.encoder.attention.width = 8;
  options.encoder.attention.heads = 2;
  options.classes = 3;
  return options;
}

TEST(Context, TrainingWithDropoutNeedsAStream) {
  const Ids ids = test::random_ids({2, 4}, Rng(1), 5);
  const ModelInput<float> input{&ids};
  const auto run = [&](double dropout, double attention_dropout, const Context& context) {
    EncoderModelOptions options = small_options();
    options.encoder.dropout = dropout;
    options.encoder.attention.dropout = attention_dropout;
    Parameters<float> parameters(1);
    return EncoderModel<float>(parameters.root(), options)(input, context).value();
  };
  const char* const said = "use Context::train(seed, step)";
  const Context without{.training = true};
  EXPECT_TRUE(test::throws_with<Error>([&] { run(0.1, 0, without); }, said));
  EXPECT_TRUE(test::throws_with<Error>([&] { run(0, 0.1, without); }, said));
  EXPECT_TRUE(test::same_bits(run(0, 0, without), run(0.1, 0.1, {})));
  EXPECT_FALSE(test::same_bits(run(0, 0, without), run(0.1, 0, Context::train(1, 0))));
}

TEST(Context, EachStepOfEachSeedHasItsOwnMask) {
  Parameters<double> parameters(1);
  const Mlp<double> mlp(parameters.root() / "m", 8, 32, Activation::gelu, 0.5);
  const Variable<double> x(test::random_tensor({2, 3, 8}, Rng(1)));
  std::vector<Tensor<double>> seen;
  for (const std::uint64_t seed : {1, 2}) {
    for (const std::uint64_t step : {0, 1, 2}) {
      const Tensor<double> y = mlp(x, Context::train(seed, step)).value();
      EXPECT_TRUE(test::same_bits(y, mlp(x, Context::train(seed, step)).value()));
      for (const Tensor<double>& other : seen) EXPECT_FALSE(test::same_bits(y, other));
      seen.push_back(y);
    }
  }
}

}  // namespace
}  // namespace xgrad
