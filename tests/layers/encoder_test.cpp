#include <xgrad/layers/encoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(13) / "encoder";

EncoderOptions options(NormOrder norm, std::size_t layers = 1) {
  EncoderOptions o;
  o.layers = layers;
  o.attention = {.width = 6, .heads = 2};
  o.norm = norm;
  o.final_norm = false;
  return o;
}

// The parameters of block 0 of an encoder named "e".
struct Block {
  const Parameters<double>& p;
  Variable<double> at(const std::string& name) const { return p.at("e.layers.0." + name); }
  Variable<double> norm(int which, const Variable<double>& x) const {
    const std::string name = "norm" + std::to_string(which);
    return layer_norm(x, at(name + ".weight"), at(name + ".bias"));
  }
  Variable<double> attention(const Variable<double>& x) const {
    return linear(self_attention(linear(x, at("self_attn.in_proj_weight")), {.heads = 2}),
                  at("self_attn.out_proj.weight"), at("self_attn.out_proj.bias"));
  }
  Variable<double> mlp(const Variable<double>& x) const {
    return linear(gelu(linear(x, at("linear1.weight"), at("linear1.bias"))), at("linear2.weight"),
                  at("linear2.bias"));
  }
};

TEST(Encoder, S1_3_PreNorm) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre));
  const Block block{parameters};
  const Variable<double> z(random_tensor({2, 5, 6}, kRng));
  const Variable<double> y = add(block.attention(block.norm(1, z)), z);
  const Variable<double> expected = add(block.mlp(block.norm(2, y)), y);
  EXPECT_TENSOR_NEAR(encoder(z, nullptr, {}).value(), expected.value(), 1e-13);
}

TEST(Encoder, S1_3_PostNorm) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::post));
  const Block block{parameters};
  const Variable<double> z(random_tensor({2, 5, 6}, kRng));
  const Variable<double> y = block.norm(1, add(block.attention(z), z));
  const Variable<double> expected = block.norm(2, add(block.mlp(y), y));
  EXPECT_TENSOR_NEAR(encoder(z, nullptr, {}).value(), expected.value(), 1e-13);
}

TEST(Encoder, S1_3_NoNorm) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::none));
  const Block block{parameters};
  const Variable<double> z(random_tensor({2, 5, 6}, kRng));
  const Variable<double> y = add(block.attention(z), z);
  EXPECT_TENSOR_NEAR(encoder(z, nullptr, {}).value(), add(block.mlp(y), y).value(), 1e-13);
}

TEST(Encoder, S1_1_DepthZeroIsTheIdentityAndDepthComposes) {
  const Variable<double> z(random_tensor({2, 3, 6}, kRng));
  Parameters<double> none(1);
  EXPECT_TRUE(test::same_bits(
      Encoder<double>(none.root() / "e", options(NormOrder::pre, 0))(z, nullptr, {}).value(),
      z.value()));

  Parameters<double> parameters(1);
  const Encoder<double> both(parameters.root() / "e", options(NormOrder::pre, 2));
  Parameters<double> first(1);
  const EncoderBlock<double> block0(first.root() / "e" / "layers" / "0", options(NormOrder::pre));
  const EncoderBlock<double> block1(first.root() / "e" / "layers" / "1", options(NormOrder::pre));
  EXPECT_TRUE(test::same_bits(both(z, nullptr, {}).value(),
                              block1(block0(z, nullptr, {}), nullptr, {}).value()));
}

TEST(Encoder, S1_2_WithZeroedBranchesTheGradientPassesUnchanged) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre, 2));
  for (const Parameter<double>& p : parameters) {
    const bool last =
        p.name.find("out_proj") != std::string::npos || p.name.find("linear2") != std::string::npos;
    Tensor<double>& value = p.variable.mutable_value();
    if (last) std::fill_n(value.data(), value.size(), 0.0);
  }
  const Variable<double> z(random_tensor({2, 3, 6}, kRng), true);
  const Tensor<double> dy = random_tensor({2, 3, 6}, kRng / "dy");
  const Variable<double> y = encoder(z, nullptr, {});
  EXPECT_TRUE(test::same_bits(y.value(), z.value()));
  y.backward(dy);
  EXPECT_TRUE(test::same_bits(z.grad(), dy));
}

TEST(Encoder, S1_10_ParametersOfTheBook) {
  Parameters<float> parameters(1);
  EncoderOptions book;
  book.attention = {.width = 384, .heads = 8};
  const EncoderBlock<float> block(parameters.root() / "b", book);
  EXPECT_EQ(parameters.count(), 1773312u);
}

TEST(Encoder, S1_13_TheFinalNormIsAnOption) {
  EncoderOptions with = options(NormOrder::pre, 2);
  with.final_norm = true;
  Parameters<double> parameters(1), plain(1);
  const Encoder<double> encoder(parameters.root() / "e", with);
  const Encoder<double> without(plain.root() / "e", options(NormOrder::pre, 2));
  const Variable<double> z(random_tensor({1, 3, 6}, kRng));
  const Variable<double> expected = layer_norm(
      without(z, nullptr, {}), parameters.at("e.norm.weight"), parameters.at("e.norm.bias"));
  EXPECT_TENSOR_NEAR(encoder(z, nullptr, {}).value(), expected.value(), 1e-15);
}

TEST(Encoder, S0_2_S1_5_SamplesDoNotSeeEachOther) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre, 2));
  Tensor<double> x = random_tensor({2, 4, 6}, kRng);
  const Tensor<double> before = encoder(Variable<double>(x), nullptr, {}).value();
  std::fill_n(x.data() + 24, 24, 0.5);  // another second sample
  const Tensor<double> after = encoder(Variable<double>(x), nullptr, {}).value();
  EXPECT_TRUE(std::equal(before.data(), before.data() + 24, after.data()));
  EXPECT_FALSE(std::equal(before.data() + 24, before.data() + 48, after.data() + 24));
}

TEST(Encoder, S0_14_WithoutDropoutTrainingEqualsEvaluation) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre, 2));
  const Variable<double> z(random_tensor({2, 4, 6}, kRng));
  EXPECT_TRUE(test::same_bits(encoder(z, nullptr, {true, kRng, 0}).value(),
                              encoder(z, nullptr, {}).value()));
}

TEST(Encoder, EverySampleKeepsItsDropoutWhenTheBatchIsCut) {
  EncoderOptions o = options(NormOrder::pre, 2);
  o.dropout = 0.3;
  o.attention.dropout = 0.2;
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", o);
  const Variable<double> z(random_tensor({4, 3, 6}, kRng));
  const Tensor<double> whole = encoder(z, nullptr, {true, kRng, 0}).value();
  const Tensor<double> part = encoder(slice(z, 0, 2, 4), nullptr, {true, kRng, 2}).value();
  EXPECT_TENSOR_NEAR(slice(Variable<double>(whole), 0, 2, 4).value(), part, 1e-14);
}

}  // namespace
}  // namespace xgrad
