// mutable_value() between forward and backward: right gradients, or a GradientError that names the
// op.
#include <gtest/gtest.h>

#include <set>

#include <xgrad/autograd/memory/memory.hpp>
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

// An op, and for each input that alone wants a gradient the inputs that its backward does not read.
struct Unread {
  std::string op;
  std::function<V(const std::vector<V>&)> f;
  std::vector<Shape> shapes;
  std::vector<std::set<std::size_t>> unread;
};

const std::vector<Unread> kUnread = {
    {"mul", [](const auto& x) { return mul(x[0], x[1]); }, {{2, 3}, {3}}, {{0}, {1}}},
    {"div", [](const auto& x) { return div(x[0], x[1]); }, {{2, 3}, {3}}, {{0}, {0}}},
    {"pow", [](const auto& x) { return pow(x[0], x[1]); }, {{2, 3}, {3}}, {{}, {}}},
    {"matmul", [](const auto& x) { return matmul(x[0], x[1]); }, {{4, 2, 3}, {3, 5}}, {{0}, {1}}},
    {"linear",
     [](const auto& x) { return linear(x[0], x[1], x[2]); },
     {{2, 3}, {4, 3}, {4}},
     {{0, 2}, {1, 2}, {0, 1, 2}}},
    {"linear_gelu",
     [](const auto& x) { return linear_gelu(x[0], x[1], x[2]); },
     {{2, 3}, {4, 3}, {4}},
     {{0, 2}, {1, 2}, {0, 1, 2}}},
    {"layer_norm",
     [](const auto& x) { return layer_norm(x[0], x[1], x[2]); },
     {{2, 3}, {3}, {3}},
     {{2}, {1, 2}, {1, 2}}},
    {"rms_norm", [](const auto& x) { return rms_norm(x[0], x[1]); }, {{2, 3}, {3}}, {{}, {1}}},
    {"batch_norm",
     [](const auto& x) { return batch_norm(x[0], x[1], x[2]); },
     {{2, 3}, {3}, {3}},
     {{2}, {1, 2}, {1, 2}}},
};

// Positive numbers, since pow takes the logarithm of some. Input `wanted` alone is a leaf.
std::vector<V> inputs_of(const Unread& row, std::size_t wanted) {
  std::vector<V> x;
  for (std::size_t i = 0; i < row.shapes.size(); ++i) {
    x.emplace_back(random_tensor(row.shapes[i], Rng(1) / i, 0.5, 2), i == wanted);
  }
  return x;
}

// Leaves; input `changed` is a constant if that is asked for.
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

const char* const kSaid = "backward: a value that 'linear' needs was changed after its forward";

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

// A frozen weight may be loaded anew, and a constant input be filled with the next batch.
TEST(MutableValue, IsRefusedExactlyWhereBackwardReadsTheValue) {
  for (const Unread& row : kUnread) {
    for (std::size_t wanted = 0; wanted < row.shapes.size(); ++wanted) {
      for (std::size_t i = 0; i < row.shapes.size(); ++i) {
        SCOPED_TRACE(row.op + ": gradient of " + std::to_string(wanted) + ", changed " +
                     std::to_string(i));
        const auto x = inputs_of(row, wanted), same = inputs_of(row, wanted);
        const V y = row.f(x);
        x[i].mutable_value().fill(7);
        if (row.unread[wanted].count(i) == 0) {
          EXPECT_TRUE(throws_with<GradientError>([&] { gradients(y, x); },
                                                 "a value that '" + row.op + "' needs"));
          continue;
        }
        EXPECT_TRUE(same_bits(gradients(y, x)[wanted], gradients(row.f(same), same)[wanted]));
      }
    }
  }
}

// The input of a frozen layer is free as soon as the caller lets it go.
TEST(MutableValue, WhatBackwardDoesNotReadIsNotKept) {
  const V weight(random_tensor({8, 1024}, Rng(1))), x(random_tensor({4, 1024}, Rng(2)), true);
  linear(scale(x, 2), weight);  // the work space of a thread's first product stays
  const Counters counters;
  const V y = linear(scale(x, 2), weight);
  EXPECT_LT(counters.live_bytes(), std::int64_t(1024 * sizeof(double)));
  y.backward(random_tensor({4, 8}, Rng(3)));
}

TEST(MutableValue, WithoutAGradientToComputeTheDerivativeOfGeluIsNotKept) {
  const V weight(random_tensor({1024, 8}, Rng(1))), x(random_tensor({64, 8}, Rng(2)));
  linear_gelu(x, weight);  // the work space of a thread's first product stays
  const Counters counters;
  const V y = linear_gelu(x, weight);
  EXPECT_LT(counters.peak_bytes(), std::int64_t(2 * y.value().size() * sizeof(double)));
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
  const char* const said = "mutable_value: this is the result of ";
  EXPECT_TRUE(throws_with<GradientError>([&] { y.mutable_value(); }, said + std::string("tanh")));
  EXPECT_TRUE(throws_with<GradientError>([&] { y.detach().mutable_value(); }, said));
  EXPECT_TRUE(throws_with<GradientError>([] { V().mutable_value(); }, "has no value"));
  const NoGrad no_grad;
  tanh(x).mutable_value().fill(0);
}

}  // namespace xgrad::test
