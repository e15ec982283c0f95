#include <xgrad/layers/models/encoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/models.hpp"
#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(13) / "encoder";
constexpr Normalization kNormalizations[] = {Normalization::layer, Normalization::rms,
                                             Normalization::batch};

EncoderOptions options(NormOrder norm, std::size_t layers = 1) {
  EncoderOptions o;
  o.layers = layers;
  o.attention = {.width = 6, .heads = 2};
  o.norm = norm;
  o.final_norm = false;
  return o;
}

// The parameters of a block of an encoder named "e".
struct Block {
  const Parameters<double>& p;
  Normalization kind = Normalization::layer;
  int layer = 0;
  Variable<double> at(const std::string& name) const {
    return p.at("e.layers." + std::to_string(layer) + "." + name);
  }
  Variable<double> norm(const std::string& name, const Variable<double>& x) const {
    if (kind == Normalization::rms) return rms_norm(x, at(name + ".weight"));
    if (kind == Normalization::batch) {
      return batch_norm(x, at(name + ".weight"), at(name + ".bias"));
    }
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

// Norms start as if they had no parameters, and biases at 0.
void randomize(const Parameters<double>& parameters) {
  for (const Parameter<double>& p : parameters) {
    p.variable.mutable_value() += random_tensor(p.variable.shape(), kRng / p.name, -0.3, 0.3);
  }
}

// Compares one block with random parameters with `formula`, which is made of ops, for all kinds of
// norm.
template <class Formula>
void expect_block(NormOrder norm, const Formula& formula) {
  for (const Normalization kind : kNormalizations) {
    EncoderOptions o = options(norm);
    o.normalization = kind;
    Parameters<double> parameters(1);
    const Encoder<double> encoder(parameters.root() / "e", o);
    randomize(parameters);
    const Variable<double> z(random_tensor({2, 5, 6}, kRng));
    EXPECT_TENSOR_NEAR(encoder(z, {}, {}).value(), formula(Block{parameters, kind}, z).value(),
                       1e-13);
  }
}

Variable<double> pre_norm(const Block& block, const Variable<double>& z) {
  const Variable<double> y = add(block.attention(block.norm("norm1", z)), z);
  return add(block.mlp(block.norm("norm2", y)), y);
}

TEST(Encoder, S1_3_PreNorm) {
  expect_block(NormOrder::pre, pre_norm);
}

TEST(Encoder, S1_3_PostNorm) {
  expect_block(NormOrder::post, [](const Block& block, const Variable<double>& z) {
    const Variable<double> y = block.norm("norm1", add(block.attention(z), z));
    return block.norm("norm2", add(block.mlp(y), y));
  });
}

TEST(Encoder, SandwichNorm) {
  expect_block(NormOrder::sandwich, [](const Block& block, const Variable<double>& z) {
    const auto y = add(block.norm("norm1_post", block.attention(block.norm("norm1", z))), z);
    return add(block.norm("norm2_post", block.mlp(block.norm("norm2", y))), y);
  });
}

TEST(Encoder, S1_3_NoNorm) {
  expect_block(NormOrder::none, [](const Block& block, const Variable<double>& z) {
    const Variable<double> y = add(block.attention(z), z);
    return add(block.mlp(y), y);
  });
}

TEST(Encoder, NormsAreNamedAfterTheirSublayer) {
  const auto names = [](NormOrder norm, Normalization kind) {
    EncoderOptions o = options(norm);
    o.normalization = kind;
    o.final_norm = true;
    Parameters<float> parameters(1);
    const Encoder<float> encoder(parameters.root() / "e", o);
    std::vector<std::string> result;
    for (const Parameter<float>& p : parameters) {
      if (p.name.find("norm") != std::string::npos) result.push_back(p.name);
    }
    return result;
  };
  const std::string at = "e.layers.0.";
  EXPECT_EQ(names(NormOrder::none, Normalization::rms),
            (std::vector<std::string>{"e.norm.weight"}));
  EXPECT_EQ(names(NormOrder::post, Normalization::layer),
            (std::vector<std::string>{at + "norm1.weight", at + "norm1.bias", at + "norm2.weight",
                                      at + "norm2.bias", "e.norm.weight", "e.norm.bias"}));
  EXPECT_EQ(
      names(NormOrder::sandwich, Normalization::rms),
      (std::vector<std::string>{at + "norm1.weight", at + "norm1_post.weight", at + "norm2.weight",
                                at + "norm2_post.weight", "e.norm.weight"}));
}

TEST(Encoder, S1_1_DepthZeroIsTheIdentityAndDepthComposes) {
  const Variable<double> z(random_tensor({2, 3, 6}, kRng));
  Parameters<double> none(1);
  EXPECT_TRUE(test::same_bits(
      Encoder<double>(none.root() / "e", options(NormOrder::pre, 0))(z, {}, {}).value(),
      z.value()));

  Parameters<double> parameters(1);
  const Encoder<double> both(parameters.root() / "e", options(NormOrder::pre, 2));
  Parameters<double> first(1);
  const EncoderBlock<double> block0(first.root() / "e" / "layers" / "0", options(NormOrder::pre));
  const EncoderBlock<double> block1(first.root() / "e" / "layers" / "1", options(NormOrder::pre));
  EXPECT_TRUE(test::same_bits(both(z, {}, {}).value(), block1(block0(z, {}, {}), {}, {}).value()));
}

// The second block is a function of what the first one gives, and so are its maps.
TEST(Encoder, S4_11_AttentionReadsAHiddenLayer) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre, 2));
  randomize(parameters);
  const Variable<double> z(random_tensor({2, 4, 6}, kRng));
  const Block first{parameters}, second{parameters, Normalization::layer, 1};
  const Variable<double> hidden = pre_norm(first, z);
  test::HeadObserver<double> observer;
  EXPECT_TENSOR_NEAR(encoder(z, {}, observer.context()).value(), pre_norm(second, hidden).value(),
                     1e-13);

  const auto map_of = [](const Block& block, const Variable<double>& input) {
    const Variable<double> qkv =
        linear(block.norm("norm1", input), block.at("self_attn.in_proj_weight"));
    return attention_probabilities(slice(qkv, 2, 0, 6).value(), slice(qkv, 2, 6, 12).value(),
                                   {.heads = 2});
  };
  ASSERT_EQ(observer.maps.size(), 2u);
  EXPECT_TENSOR_NEAR(observer.maps[0].value(), map_of(first, z), 1e-14);
  EXPECT_TENSOR_NEAR(observer.maps[1].value(), map_of(second, hidden), 1e-14);
  EXPECT_FALSE(test::tensors_near(observer.maps[1].value(), map_of(second, z), 1e-3));

  const Variable<double> a(z.value(), true), b(z.value(), true);
  const Tensor<double> dy = random_tensor({2, 4, 6}, kRng / "dy");
  encoder(a, {}, {}).backward(dy);
  pre_norm(second, pre_norm(first, b)).backward(dy);
  EXPECT_TENSOR_NEAR(a.grad(), b.grad(), 1e-13);
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
  const Variable<double> y = encoder(z, {}, {});
  EXPECT_TRUE(test::same_bits(y.value(), z.value()));
  y.backward(dy);
  EXPECT_TRUE(test::same_bits(z.grad(), dy));
}

TEST(Encoder, S1_10_ParametersOfTheBook) {
  Parameters<float> parameters(1);
  EncoderOptions book;
  book.attention = {.width = 384, .heads = 8};
  const EncoderBlock<float> block(parameters.root() / "b", book);
  EXPECT_EQ(parameters.count(), test::worked_example("S1.10.parameters")());
}

TEST(Encoder, S1_13_TheFinalNormIsAnOption) {
  const Variable<double> z(random_tensor({1, 3, 6}, kRng));
  for (const Normalization kind : kNormalizations) {
    EncoderOptions o = options(NormOrder::pre, 2);
    o.normalization = kind;
    Parameters<double> parameters(1), plain(1);
    const Encoder<double> without(plain.root() / "e", o);
    o.final_norm = true;
    const Encoder<double> encoder(parameters.root() / "e", o);
    const Variable<double> y = without(z, {}, {}), weight = parameters.at("e.norm.weight");
    const auto bias = [&] { return parameters.at("e.norm.bias"); };
    const Variable<double> expected = kind == Normalization::rms ? rms_norm(y, weight)
                                      : kind == Normalization::batch
                                          ? batch_norm(y, weight, bias())
                                          : layer_norm(y, weight, bias());
    EXPECT_TENSOR_NEAR(encoder(z, {}, {}).value(), expected.value(), 1e-15);
  }
}

TEST(Encoder, EpsReachesEveryNorm) {
  for (const Normalization kind : kNormalizations) {
    EncoderOptions o = options(NormOrder::sandwich);
    o.normalization = kind;
    o.norm_eps = 1e30;  // leaves nothing of what is normalised
    Parameters<double> parameters(1);
    const Encoder<double> encoder(parameters.root() / "e", o);
    const Variable<double> z(random_tensor({1, 3, 6}, kRng));
    EXPECT_TENSOR_NEAR(encoder(z, {}, {}).value(), z.value(), 1e-12);
  }
}

TEST(Encoder, S0_2_S1_5_SamplesDoNotSeeEachOther) {
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", options(NormOrder::pre, 2));
  Tensor<double> x = random_tensor({2, 4, 6}, kRng);
  const Tensor<double> before = encoder(Variable<double>(x), {}, {}).value();
  std::fill_n(x.data() + 24, 24, 0.5);  // another second sample
  const Tensor<double> after = encoder(Variable<double>(x), {}, {}).value();
  EXPECT_TRUE(std::equal(before.data(), before.data() + 24, after.data()));
  EXPECT_FALSE(std::equal(before.data() + 24, before.data() + 48, after.data() + 24));
}

// Batch norm is not the default because a sample's result depends on the other samples of its
// batch. It does not depend on the amount of padding.
TEST(Encoder, S1_5_WithBatchNormSamplesSeeEachOtherButNoPadding) {
  EncoderOptions o = options(NormOrder::pre, 2);
  o.normalization = Normalization::batch;
  o.final_norm = true;
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", o);
  Tensor<double> x = random_tensor({2, 4, 6}, kRng);
  auto mask = std::make_shared<Mask>(full<std::uint8_t>({2, 4}, 1));
  (*mask)(1, 3) = 0;
  const auto run = [&] { return encoder(Variable<double>(x), {.key_mask = mask}, {}).value(); };
  const Tensor<double> before = run();
  std::fill_n(x.data() + 42, 6, 7.0);  // padding
  EXPECT_TRUE(test::same_bits(run(), before));
  std::fill_n(x.data() + 24, 6, 7.0);  // a token of the second sample
  const Tensor<double> after = run();
  for (std::size_t i = 0; i < 24; ++i) EXPECT_NE(after.data()[i], before.data()[i]) << i;
}

}  // namespace
}  // namespace xgrad
