#include <xgrad/autograd/recompute.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

using Float = Variable<float>;
using Function = std::function<Float(const Float&)>;

// A block of its own weight: two uses of x, a product and dropout.
struct Block {
  Float weight{random_tensor<float>({8, 8}, Rng(3)), true};

  Float operator()(const Float& x) const {
    const Float y = dropout(gelu(linear(x, weight)), DropoutOptions{0.3, Rng(4), 0});
    return add(tanh(y), x);
  }
};

struct Result {
  Tensor<float> y, dx, dweight;
};

// Two blocks that share their weight, so that their gradients add up.
Result run(bool again) {
  const Block block;
  const Float x(random_tensor<float>({4, 3, 8}, Rng(5)), true);
  const auto once = [&](const Float& in) {
    return again ? recompute(Function(block), in) : block(in);
  };
  const Float y = once(once(x));
  y.backward(random_tensor<float>(y.shape(), Rng(6)));
  return {y.value(), x.grad(), block.weight.grad()};
}

}  // namespace

TEST(Recompute, GivesTheSameBits) {
  const Result kept = run(false), again = run(true);
  EXPECT_TRUE(same_bits(kept.y, again.y));
  EXPECT_TRUE(same_bits(kept.dx, again.dx));
  EXPECT_TRUE(same_bits(kept.dweight, again.dweight));
}

TEST(Recompute, KeepsItsInputAlone) {
  const Float x(zeros<float>({1 << 16}), true);
  const Function f = [](const Float& in) {
    Float y = in;
    for (int i = 0; i < 10; ++i) y = gelu(y);
    return y;
  };
  const auto kept = [&](bool again) {
    const Counters counters;
    const Float y = again ? recompute(f, x) : f(x);
    return counters.live_bytes();
  };
  const std::int64_t tensor = (1 << 16) * sizeof(float);
  EXPECT_GE(kept(false), 10 * tensor);
  EXPECT_LT(kept(true), 2 * tensor);  // the result, and what a node takes
}

TEST(Recompute, RunsOnceWhereNothingIsWanted) {
  int runs = 0;
  const Function f = [&](const Float& in) {
    ++runs;
    return gelu(in);
  };
  EXPECT_FALSE(recompute(f, Float(zeros<float>({3}))).requires_grad());
  EXPECT_EQ(runs, 1);
  {
    const NoGrad no_grad;
    EXPECT_FALSE(recompute(f, Float(zeros<float>({3}), true)).requires_grad());
  }
  EXPECT_EQ(runs, 2);
  recompute(f, Float(zeros<float>({3}), true)).backward(zeros<float>({3}));
  EXPECT_EQ(runs, 4);
}

// Backward twice, each time through a graph that is made anew.
TEST(Recompute, RetainsItsGraph) {
  const Float x(full<float>({3}, 0.5f), true);
  const Function f = [](const Float& in) { return mul(in, in); };
  const Float y = recompute(f, x);
  y.backward(full<float>({3}, 1.0f), /*retain_graph=*/true);
  EXPECT_EQ(x.grad()(0), 1.0f);
  y.backward(full<float>({3}, 1.0f));
  EXPECT_EQ(x.grad()(0), 2.0f);
}

// The result does not depend on x, although x wants a gradient.
TEST(Recompute, AResultWithoutAGraph) {
  const Variable<double> x(tensor({2}, {1, 2}), true);
  const auto y =
      recompute<double>([](const Variable<double>& z) { return scale(z.detach(), 2); }, x);
  y.backward(tensor({2}, {1, 1}));
  EXPECT_EQ(y.value()(1), 4);
  EXPECT_FALSE(x.has_grad());
}

TEST(Recompute, AValueThatItsSecondRunChanges) {
  const Variable<double> x(tensor({1}, {2}), true), w(tensor({1}, {3}), true);
  int runs = 0;
  const auto y = recompute<double>(
      [&](const Variable<double>& z) {
        const auto product = mul(z, w);
        if (++runs == 2) w.mutable_value()(0) = 4;
        return product;
      },
      x);
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(tensor({1}, {1})); },
                                         "needs was changed after its forward"));
}

}  // namespace xgrad::test
