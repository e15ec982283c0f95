// Each way of telling tokens apart by their place, against PyTorch's composition of the same, and
// as part of a model under the gradient check.
#include <xgrad/layers/positions.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/layers/models/models.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

const Rng kRng = Rng(19) / "positions";

const test::Golden& golden() {
  static const test::Golden file("positions.txt");
  return file;
}

// Value and gradients of a layer whose parameters are those of the file's case, by our names and
// the file's.
template <class Layer>
void expect_golden(const std::string& name, const Parameters<double>& parameters,
                   const std::map<std::string, std::string>& names, const Layer& layer) {
  for (const auto& [ours, theirs] : names) {
    parameters.at(ours).mutable_value() = golden()(name + "." + theirs);
  }
  const Variable<double> x(golden()(name + ".x"), true);
  const Variable<double> y = layer(x);
  const auto near = [&](const Tensor<double>& actual, const std::string& expected) {
    return test::tensors_near(actual, golden()(name + "." + expected), 1e-13, 1e-12);
  };
  EXPECT_TRUE(near(y.value(), "y"));
  y.backward(golden()(name + ".dy"));
  EXPECT_TRUE(near(x.grad(), "dx"));
  for (const auto& [ours, theirs] : names) {
    EXPECT_TRUE(near(parameters.at(ours).grad(), "d" + theirs)) << ours;
  }
}

TEST(Positions, SinusoidalByHand) {
  const Tensor<double> table = sinusoidal_positions<double>(3, 4);
  EXPECT_TENSOR_NEAR(
      table,
      test::tensor<double>({3, 4}, {0, 1, 0, 1,  //
                                    0.8414709848078965, 0.5403023058681398, 0.009999833334166664,
                                    0.9999500004166653,  //
                                    0.9092974268256817, -0.4161468365471424, 0.01999866669333308,
                                    0.9998000066665778}),
      1e-15);
}

TEST(Positions, Learned2dAsTorch) {
  Parameters<double> parameters(1);
  const Positions<double> positions(parameters.root() / "position",
                                    {.kind = PositionKind::learned_2d,
                                     .max_length = 7,
                                     .width = 4,
                                     .rows = 2,
                                     .columns = 3,
                                     .class_token = true});
  expect_golden("learned_2d", parameters,
                {{"position.row_weight", "rows"}, {"position.column_weight", "columns"}},
                [&](const auto& x) { return positions(x, nullptr); });
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] {
        positions(Variable<double>(zeros<double>({1, 6, 4})), nullptr);
      },
      "expected the 7 patches of an image, got 6"));
}

TEST(Positions, RelativeIndexAsTorch) {
  Parameters<double> parameters(1);
  const Positions<double> positions(parameters.root() / "position",
                                    {.kind = PositionKind::relative_index, .width = 4});
  const auto mask = std::make_shared<const Mask>(golden().mask("relative_index.mask"));
  expect_golden("relative_index", parameters, {{"position.weight", "weight"}},
                [&](const auto& x) { return positions(x, mask); });
}

// Of four tokens; of two between padding, which gets nothing.
TEST(Positions, RelativeIndexCountsWhatTheMaskKeeps) {
  EXPECT_TENSOR_NEAR(relative_index<double>({1, 4}, nullptr),
                     test::tensor({1, 4, 2}, {0, 1, 0.25, -1, 0.5, 1, 0.75, -1}), 0);
  const auto mask = std::make_shared<const Mask>(Mask{{0, 1, 0, 1}});
  EXPECT_TENSOR_NEAR(relative_index<double>({1, 4}, mask),
                     test::tensor({1, 4, 2}, {0, 0, 0, 1, 0, 0, 0.5, -1}), 0);
}

TEST(Positions, RotaryAttentionAsTorch) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> attention(
      parameters.root() / "self_attn",
      {.width = 8, .heads = 2, .out_bias = false, .positions = PositionKind::rotary});
  expect_golden(
      "attention.rotary", parameters,
      {{"self_attn.in_proj_weight", "in_weight"}, {"self_attn.out_proj.weight", "out_weight"}},
      [&](const auto& x) { return attention(x, {}, {}); });
}

TEST(Positions, AlibiAttentionAsTorch) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> attention(
      parameters.root() / "self_attn",
      {.width = 8, .heads = 2, .out_bias = false, .positions = PositionKind::alibi});
  expect_golden(
      "attention.alibi", parameters,
      {{"self_attn.in_proj_weight", "in_weight"}, {"self_attn.out_proj.weight", "out_weight"}},
      [&](const auto& x) { return attention(x, {}, {}); });
}

TEST(Positions, RelativeBiasAttentionAsTorch) {
  Parameters<double> parameters(1);
  const MultiHeadAttention<double> attention(parameters.root() / "self_attn",
                                             {.width = 8,
                                              .heads = 2,
                                              .out_bias = false,
                                              .positions = PositionKind::relative_bias,
                                              .max_distance = 3});
  expect_golden("attention.relative_bias", parameters,
                {{"self_attn.in_proj_weight", "in_weight"},
                 {"self_attn.out_proj.weight", "out_weight"},
                 {"self_attn.relative_position_bias_table", "table"}},
                [&](const auto& x) { return attention(x, {}, {}); });
}

// 1/2^1, 1/2^2, ..., 1/2^8 for 8 heads and 1/2^0.5, 1/2^1, ... for 16 (Press et al. 2021, section
// 3); their program gives 12 heads those of 8, then every other one of 16.
TEST(Positions, AlibiSlopesOfThePaper) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<double>{1.0 / 256}));
  EXPECT_EQ(alibi_slopes(8), (std::vector<double>{1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32,
                                                  1.0 / 64, 1.0 / 128, 1.0 / 256}));
  const std::vector<double> of_16 = alibi_slopes(16), of_12 = alibi_slopes(12);
  EXPECT_NEAR(of_16[0], 0.7071067811865476, 1e-16);
  EXPECT_EQ(of_16[15], 1.0 / 256);
  ASSERT_EQ(of_12.size(), 12u);
  EXPECT_TRUE(std::equal(of_12.begin(), of_12.begin() + 8, alibi_slopes(8).begin()));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(of_12[8 + i], of_16[2 * i]);
}

// Without positions, reversing the input reverses the output; so it does with alibi, which depends
// on distances but not on direction. Every other kind tells a sequence from its reverse.
TEST(Positions, WhoSeesTheOrder) {
  for (const PositionKind kind :
       {PositionKind::none, PositionKind::learned, PositionKind::sinusoidal,
        PositionKind::relative_index, PositionKind::rotary, PositionKind::relative_bias,
        PositionKind::alibi}) {
    EncoderModelOptions options;
    options.input = {.vocabulary = 7, .max_length = 5, .positions = kind};
    options.encoder.attention = {.width = 8, .heads = 2, .positions = kind};
    options.classes = 3;
    Parameters<double> parameters(3);
    const EncoderModel<double> model(parameters.root(), options);
    for (const Parameter<double>& p : parameters) {
      p.variable.mutable_value() += test::random_tensor(p.variable.shape(), kRng / p.name);
    }
    Ids ids = test::random_ids({1, 5}, kRng, 7), reversed = ids;
    std::reverse(reversed.data(), reversed.data() + 5);
    Tensor<double> y = model({&reversed, nullptr, nullptr}, {}).value();
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < 2; ++i) std::swap(y(0, i, c), y(0, 4 - i, c));
    }
    EXPECT_EQ(bool(test::tensors_near(model({&ids, nullptr, nullptr}, {}).value(), y, 1e-6)),
              kind == PositionKind::none || kind == PositionKind::alibi)
        << int(kind);
  }
}

}  // namespace
}  // namespace xgrad
