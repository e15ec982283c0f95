// Where the encoder has dropout: the attention map, the output of each sublayer, inside the MLP.
#include <xgrad/layers/models/encoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(13) / "encoder";

EncoderOptions options(NormOrder norm, std::size_t layers = 1) {
  EncoderOptions o;
  o.layers = layers;
  o.attention = {.width = 6, .heads = 2};
  o.norm = norm;
  return o;
}

void fill(const Parameters<double>& parameters, const std::string& name, double value) {
  Tensor<double>& tensor = parameters.at(name).mutable_value();
  std::fill_n(tensor.data(), tensor.size(), value);
}

// With plain loops; the attention of this block adds nothing.
TEST(Encoder, S1_7_LinearGeluDropoutLinearDropout) {
  constexpr std::size_t D = 6, F = 8;
  EncoderOptions o = options(NormOrder::none);
  o.feedforward = F;
  o.dropout = 0.5;
  Parameters<double> parameters(1);
  const Scope<double> scope = parameters.root() / "b";
  const EncoderBlock<double> block(scope, o);
  for (const Parameter<double>& p : parameters) {  // biases start at 0
    p.variable.mutable_value() += random_tensor(p.variable.shape(), kRng / p.name, -0.3, 0.3);
  }
  fill(parameters, "b.self_attn.out_proj.weight", 0);
  fill(parameters, "b.self_attn.out_proj.bias", 0);
  const Tensor<double> x = random_tensor({2, 4, D}, kRng);
  const Tensor<double> y = block(Variable<double>(x), {}, {true, kRng, 0}).value();
  const auto at = [&](const char* name) { return parameters.at(name).value(); };
  const Tensor<double> w1 = at("b.linear1.weight"), b1 = at("b.linear1.bias"),
                       w2 = at("b.linear2.weight"), b2 = at("b.linear2.bias");
  const auto factors = [&](const char* place, std::size_t b, std::size_t n, std::size_t size) {
    std::vector<double> f(size);
    dropout_factors(kRng / (scope / place).id(), 0.5, std::uint32_t(b), 0, std::uint32_t(n), size,
                    f.data());
    return f;
  };
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t n = 0; n < 4; ++n) {
      std::vector<double> hidden = factors("linear1", b, n, F);
      for (std::size_t f = 0; f < F; ++f) {
        double u = b1(f);
        for (std::size_t d = 0; d < D; ++d) u += w1(f, d) * x(b, n, d);
        hidden[f] *= u / 2 * std::erfc(-u / std::sqrt(2.0));
      }
      const std::vector<double> kept = factors("dropout2", b, n, D);
      for (std::size_t d = 0; d < D; ++d) {
        double v = b2(d);
        for (std::size_t f = 0; f < F; ++f) v += w2(d, f) * hidden[f];
        EXPECT_NEAR(y(b, n, d), x(b, n, d) + kept[d] * v, 1e-14);
      }
    }
  }
}

// In sandwich order the dropout acts between the second norm and the sum.
TEST(Encoder, DropoutActsOnWhatIsAdded) {
  for (const NormOrder norm : {NormOrder::pre, NormOrder::sandwich, NormOrder::none}) {
    Parameters<double> parameters(1);
    EncoderOptions o = options(norm);
    o.dropout = 0.5;
    const Residual<double> residual(parameters.root() / "b", 1, o);
    const Variable<double> x(random_tensor({2, 5, 6}, kRng));
    const auto square = [](const Variable<double>& v) { return mul(v, v); };
    const Tensor<double> plain = residual(x, nullptr, {}, square).value();
    const Tensor<double> dropped = residual(x, nullptr, {true, kRng, 0}, square).value();
    int zeros = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double kept = dropped.data()[i] - x.value().data()[i];
      zeros += kept == 0;
      if (kept == 0) continue;
      EXPECT_NEAR(kept, (plain.data()[i] - x.value().data()[i]) * 2, 1e-14);
    }
    EXPECT_GT(zeros, 15);
    EXPECT_LT(zeros, 45);
  }
}

// In evaluation rates say nothing; in training one of 0 is no dropout.
TEST(Encoder, S0_14_S1_9_EvaluationHasNoDropout) {
  const Variable<double> z(random_tensor({2, 4, 6}, kRng));
  const auto output = [&](double rate, bool training) {
    EncoderOptions o = options(NormOrder::pre, 2);
    o.dropout = o.attention.dropout = rate;
    Parameters<double> parameters(1);
    const Encoder<double> encoder(parameters.root() / "e", o);
    return encoder(z, {}, {training, kRng, 0}).value();
  };
  const Tensor<double> expected = output(0, false);
  EXPECT_TRUE(test::same_bits(output(0.3, false), expected));
  EXPECT_TRUE(test::same_bits(output(0, true), expected));
  EXPECT_FALSE(test::tensors_near(output(0.3, true), expected, 1e-3));
}

// Queries and keys are 0, so that a map has 1/N everywhere; values are rows of the identity matrix,
// and all features of an output are the sum of the token's row of the map: k / ((1 - a) N) where
// dropout of rate a keeps k weights of the row. Dropout of the output then makes features 0, and
// divides the others by 1 - b.
TEST(Encoder, S0_14_MapAndOutputHaveRatesOfTheirOwn) {
  constexpr std::size_t B = 200, N = 16;
  Tensor<double> identity = zeros<double>({B, N, N});
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < N; ++n) identity(b, n, n) = 1;
  }
  for (const auto& [a, b] : {std::pair(0.25, 0.0), {0.0, 0.5}, {0.25, 0.5}}) {
    EncoderOptions o = options(NormOrder::none);
    o.attention = {.width = N, .dropout = a};
    o.dropout = b;
    Parameters<double> parameters(1);
    const EncoderBlock<double> block(parameters.root() / "b", o);
    fill(parameters, "b.self_attn.in_proj_weight", 0);
    for (std::size_t n = 0; n < N; ++n) {
      parameters.at("b.self_attn.in_proj_weight").mutable_value()(2 * N + n, n) = 1;
    }
    fill(parameters, "b.self_attn.out_proj.weight", 1);
    for (const char* name : {"b.self_attn.out_proj.bias", "b.linear2.weight", "b.linear2.bias"}) {
      fill(parameters, name, 0);  // the MLP adds nothing
    }
    const Tensor<double> y = block(Variable<double>(identity), {}, {true, kRng, 0}).value();
    double weights = 0, spread = 0, features = 0;  // of those that are kept
    for (std::size_t row = 0; row < B * N; ++row) {
      double largest = 0;
      for (std::size_t d = 0; d < N; ++d) {
        const double added = y.data()[row * N + d] - identity.data()[row * N + d];
        largest = std::max(largest, added);
        if (added == 0) continue;
        ++features;
        ASSERT_NEAR(added, largest, 1e-13);
      }
      const double kept = largest * (1 - b) * (1 - a) * N;
      ASSERT_NEAR(kept, std::round(kept), 1e-11);
      weights += kept;
      spread += std::pow(kept - (1 - a) * N, 2);
    }
    const double all = B * N * N, sigma_a = std::sqrt(a * (1 - a) * all),
                 sigma_b = std::sqrt(b * (1 - b) * all);
    EXPECT_NEAR(weights, (1 - a) * all, 3 * sigma_a + 1e-6);
    EXPECT_NEAR(spread, a * (1 - a) * all, 0.08 * a * (1 - a) * all + 1e-6);
    EXPECT_NEAR(features, (1 - b) * all, 3 * sigma_b);
  }
}

TEST(Encoder, EverySampleKeepsItsDropoutWhenTheBatchIsCut) {
  EncoderOptions o = options(NormOrder::pre, 2);
  o.dropout = 0.3;
  o.attention.dropout = 0.2;
  Parameters<double> parameters(1);
  const Encoder<double> encoder(parameters.root() / "e", o);
  const Variable<double> z(random_tensor({4, 3, 6}, kRng));
  const Tensor<double> whole = encoder(z, {}, {true, kRng, 0}).value();
  const Tensor<double> part = encoder(slice(z, 0, 2, 4), {}, {true, kRng, 2}).value();
  EXPECT_TENSOR_NEAR(slice(Variable<double>(whole), 0, 2, 4).value(), part, 1e-14);
}

}  // namespace
}  // namespace xgrad
