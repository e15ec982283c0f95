#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

void normal(std::span<double> values, const Shape&, const Rng& rng) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = rng.normal(i);
}

}  // namespace

TEST(Parameters, AreNamedByTheirPlace) {
  Parameters<float> parameters(1);
  const Scope<float> layers = parameters.root() / "encoder" / "layers";
  EXPECT_EQ(parameters.root().path(), "");
  EXPECT_EQ((layers / 0 / "norm1").path(), "encoder.layers.0.norm1");
  (layers / 0 / "norm1").parameter("weight", {3}, normal);
  (layers / 1).parameter("bias", {2, 4}, normal);
  std::vector<std::string> names;
  for (const Parameter<float>& p : parameters) names.push_back(p.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"encoder.layers.0.norm1.weight", "encoder.layers.1.bias"}));
  EXPECT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters.count(), 11u);
  EXPECT_EQ(parameters.at("encoder.layers.1.bias").shape(), (Shape{2, 4}));
  EXPECT_TRUE(parameters.at("encoder.layers.1.bias").requires_grad());
}

TEST(Parameters, RefuseNamesThatDoNotWork) {
  Parameters<float> parameters(1);
  const Scope<float> root = parameters.root();
  const Scope<float> scope = root / "a";
  scope.parameter("weight", {1}, normal);
  const auto make = [&](const char* name) {
    return [&scope, name] { scope.parameter(name, {1}, normal); };
  };
  EXPECT_TRUE(throws_with<Error>(make("weight"), "'a.weight' is created twice"));
  EXPECT_TRUE(throws_with<Error>(make(""), "'' in 'a' must not be empty or contain a dot"));
  EXPECT_TRUE(
      throws_with<Error>(make("b.weight"), "'b.weight' in 'a' must not be empty or contain a dot"));
  EXPECT_TRUE(throws_with<Error>([&] { root / ""; }, "empty"));
  EXPECT_TRUE(throws_with<Error>([&] { root / "a.b"; }, "dot"));
  EXPECT_TRUE(throws_with<Error>([&] { root.parameter("weight", {1}, normal); },
                                 "'weight' belongs to no module"));
  EXPECT_TRUE(throws_with<Error>([&] { parameters.at("a.bias"); }, "no parameter 'a.bias'"));
  EXPECT_EQ(parameters.size(), 1u);
}

TEST(Parameters, StartEqualInEveryScalar) {
  Parameters<float> f(7);
  Parameters<double> d(7);
  Parameters<long double> l(7);
  const auto x = (f.root() / "m").parameter("w", {5, 3}, normal);
  const auto y = (d.root() / "m").parameter("w", {5, 3}, normal);
  const auto z = (l.root() / "m").parameter("w", {5, 3}, normal);
  EXPECT_TRUE(same_bits(x.value(), cast<float>(y.value())));
  EXPECT_TRUE(same_bits(z.value(), cast<long double>(y.value())));
}

// Not by the order in which they are made.
TEST(Parameters, StartByTheirNamesAndTheSeed) {
  Parameters<double> one(7);
  Parameters<double> two(7);
  Parameters<double> other(8);
  const auto a = (one.root() / "m").parameter("a", {4}, normal);
  const auto b = (one.root() / "m").parameter("b", {4}, normal);
  const auto b2 = (two.root() / "m").parameter("b", {4}, normal);
  const auto a2 = (two.root() / "m").parameter("a", {4}, normal);
  const auto a3 = (other.root() / "m").parameter("a", {4}, normal);
  EXPECT_TRUE(same_bits(a.value(), a2.value()));
  EXPECT_TRUE(same_bits(b.value(), b2.value()));
  EXPECT_FALSE(same_bits(a.value(), b.value()));
  EXPECT_FALSE(same_bits(a.value(), a3.value()));
}

TEST(Parameters, ForgetTheirGradients) {
  Parameters<double> parameters(1);
  const Variable<double> w = (parameters.root() / "m").parameter("w", {1}, normal);
  scale(w, 2).backward();
  EXPECT_TRUE(parameters.at("m.w").has_grad());
  parameters.zero_grad();
  EXPECT_FALSE(w.has_grad());
}

TEST(Scope, HasASiteOfItsOwn) {
  Parameters<float> parameters(1);
  Parameters<double> others(2);
  const Scope<float> root = parameters.root();
  EXPECT_EQ((root / "a").id(), (others.root() / "a").id());
  EXPECT_NE((root / "a").id(), (root / "b").id());
  EXPECT_NE((root / "a" / "b").id(), (root / "b" / "a").id());
  EXPECT_NE((root / 1 / 11).id(), (root / 11 / 1).id());
}

}  // namespace xgrad::test
