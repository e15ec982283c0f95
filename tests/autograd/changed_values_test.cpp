// mutable_value() between forward and backward: right gradients, or a GradientError that names the
// op.
#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>

#include "autograd/op_table.hpp"
#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

class ChangedValues : public testing::TestWithParam<OpCase> {};

// Of a result y, contracted with fixed numbers.
std::vector<Tensor<double>> gradients(const V& y, const std::vector<V>& leaves) {
  y.backward(random_tensor(y.shape(), Rng(1)));
  std::vector<Tensor<double>> result;
  for (const V& x : leaves) result.push_back(x.has_grad() ? x.grad() : zeros<double>(x.shape()));
  return result;
}

// Leaves, or constants where `wanted` is another input.
std::vector<V> inputs_of(const Sample& sample, std::size_t changed, bool constant) {
  std::vector<V> x;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    x.emplace_back(sample.inputs[i], !(constant && i == changed));
  }
  return x;
}

TEST_P(ChangedValues, AreRefusedWhereBackwardNeedsThem) {
  const Sample sample = GetParam().sample(Rng(2) / GetParam().op / GetParam().variant, 3);
  for (const bool constant : {false, true}) {
    if (constant && sample.inputs.size() == 1) continue;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const auto x = inputs_of(sample, i, constant), same = inputs_of(sample, i, constant);
      const V y = sample.in_double(x);
      Tensor<double>& value = x[i].mutable_value();
      for (std::size_t e = 0; e < value.size(); ++e) value.data()[e] += 0.25 + 0.5 * double(e % 3);
      try {
        const auto actual = gradients(y, x), expected = gradients(sample.in_double(same), same);
        for (std::size_t leaf = 0; leaf < x.size(); ++leaf) {
          EXPECT_TRUE(same_bits(actual[leaf], expected[leaf]))
              << "input " << i << " was changed, the gradient of input " << leaf << " is wrong";
        }
      } catch (const GradientError& error) {
        const std::string said = error.what();
        EXPECT_NE(said.find("backward: a value that '"), std::string::npos) << said;
        for (const V& leaf : x) EXPECT_FALSE(leaf.has_grad());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ChangedValues, testing::ValuesIn(op_cases()), [](const auto& row) {
  return row.param.op + (row.param.variant.empty() ? "" : "_" + row.param.variant);
});

const char* const kSaid = "backward: a value that 'linear' needs was changed by mutable_value()";

struct Layer {
  V x{random_tensor({2, 3}, Rng(1))};
  V weight{random_tensor({4, 3}, Rng(2)), true};
  V bias{random_tensor({4}, Rng(3)), true};
  V y() const { return linear(x, weight, bias); }
};

}  // namespace

TEST(MutableValue, IsRefusedByTheNameOfTheOp) {
  const Layer layer;
  const V y = sum(layer.y());
  layer.x.mutable_value().fill(0);
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(); }, kSaid));
  EXPECT_FALSE(layer.bias.has_grad());
}

// detach() shares the value.
TEST(MutableValue, IsSeenThroughEveryVariableThatSharesTheValue) {
  const Layer layer;
  const V y = sum(layer.y());
  layer.x.detach().mutable_value().fill(0);
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(); }, kSaid));
}

TEST(MutableValue, MayComeBeforeForwardAndAfterBackward) {
  const Layer layer;
  for (int step = 0; step < 3; ++step) {
    layer.weight.mutable_value().fill(step);
    layer.x.mutable_value().fill(step + 1);
    sum(layer.y()).backward();
  }
  EXPECT_EQ(layer.weight.grad()(0, 0), 2 * (1 + 2 + 3));
}

// The derivative of a sum needs neither term.
TEST(MutableValue, MayComeBetweenWhereTheDerivativeDoesNotNeedTheValue) {
  const Layer layer;
  const V y = sum(layer.y());
  layer.bias.mutable_value().fill(0);
  y.backward();
  EXPECT_EQ(layer.bias.grad()(0), 2);
}

TEST(MutableValue, EndsARetainedGraph) {
  const Layer layer;
  const V y = sum(layer.y());
  y.backward(true);
  layer.x.mutable_value().fill(0);
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(true); }, kSaid));
}

// tanh keeps its result for backward.
TEST(MutableValue, RefusesTheResultOfARecordedOp) {
  const V x(random_tensor({3}, Rng(1)), true);
  const V y = tanh(x);
  const char* const said = "mutable_value: of the result of ";
  EXPECT_TRUE(throws_with<GradientError>([&] { y.mutable_value(); }, said + std::string("tanh")));
  EXPECT_TRUE(throws_with<GradientError>([&] { y.detach().mutable_value(); }, said));
  EXPECT_TRUE(throws_with<GradientError>([] { V().mutable_value(); }, "has no value"));
  const NoGrad no_grad;
  tanh(x).mutable_value().fill(0);
}

}  // namespace xgrad::test
