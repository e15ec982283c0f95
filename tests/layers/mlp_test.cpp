#include <xgrad/layers/mlp.hpp>

#include <gtest/gtest.h>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(12) / "mlp";

TEST(Mlp, S1_7_DropoutActsOnTheActivationsOutput) {
  Parameters<double> parameters(1);
  const Mlp<double> mlp(parameters.root() / "m", 3, 8, Activation::gelu, 0.5);
  const Variable<double> x(random_tensor({2, 4, 3}, kRng));
  const Context context{true, kRng, 0};

  const Scope<double> scope = parameters.root() / "m" / "linear1";
  const Variable<double> hidden =
      gelu(linear(x, parameters.at("m.linear1.weight"), parameters.at("m.linear1.bias")));
  Tensor<double> masked = hidden.value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t n = 0; n < 4; ++n) {
      double factors[8];
      dropout_factors(kRng / scope.site(), 0.5, std::uint32_t(b), 0, std::uint32_t(n), 8, factors);
      for (std::size_t f = 0; f < 8; ++f) masked.data()[(b * 4 + n) * 8 + f] *= factors[f];
    }
  }
  const Variable<double> expected = linear(
      Variable<double>(masked), parameters.at("m.linear2.weight"), parameters.at("m.linear2.bias"));
  EXPECT_TENSOR_NEAR(mlp(x, context).value(), expected.value(), 1e-15);
  EXPECT_FALSE(test::tensors_near(mlp(x, Context{}).value(), expected.value(), 1e-3));
}

TEST(Mlp, EachActivationIsItsOwn) {
  const Variable<double> x(random_tensor({2, 4, 3}, kRng, -3, 3));
  const auto expect = [&](Activation activation, auto f) {
    Parameters<double> parameters(1);
    const Mlp<double> mlp(parameters.root() / "m", 3, 16, activation, 0);
    const auto at = [&](const char* name) { return parameters.at(name); };
    const Variable<double> hidden = f(linear(x, at("m.linear1.weight"), at("m.linear1.bias")));
    EXPECT_TENSOR_NEAR(mlp(x, {}).value(),
                       linear(hidden, at("m.linear2.weight"), at("m.linear2.bias")).value(), 1e-14);
  };
  expect(Activation::gelu, [](const auto& v) { return gelu(v); });
  expect(Activation::gelu_tanh, [](const auto& v) { return gelu(v, Gelu::tanh); });
  expect(Activation::relu, [](const auto& v) { return relu(v); });
  expect(Activation::silu, [](const auto& v) { return silu(v); });
}

}  // namespace
}  // namespace xgrad
