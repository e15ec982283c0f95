#include <xgrad/layers/layers.hpp>

#include <gtest/gtest.h>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(12) / "mlp";

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
