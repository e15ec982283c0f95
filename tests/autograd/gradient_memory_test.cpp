#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

// x passes; backward adds to the gradient of x and throws.
struct Throws final : Op<double> {
  const char* name() const override { return "throws"; }
  Value<double> forward(const Inputs<double>& x) override { return as_value(Tensor<double>(x[0])); }
  void backward(Tensor<double>& dy, Grads<double>& dx) const override {
    dx.add(0, dy);
    throw std::runtime_error("always");
  }
};

}  // namespace

TEST(GradientMemory, IsKeptForASmallLeafFromStepToStep) {
  const V x(tensor({4}, {1, 2, 3, 4}), true);
  take(x, 0, tensor<std::int32_t>({3}, {0, 1, 2})).backward(tensor({3}, {5, 6, 7}));
  const double* buffer = x.grad().data();
  x.zero_grad();
  take(x, 0, tensor<std::int32_t>({1}, {1})).backward(tensor({1}, {8}));
  EXPECT_EQ(x.grad().data(), buffer);
  EXPECT_TRUE(same_bits(x.grad(), tensor({4}, {0, 8, 0, 0})));
}

// So that the activations of the next forward can lie where it was.
TEST(GradientMemory, IsGivenBackForALargeLeaf) {
  const std::size_t n = 1 << 20;
  const V x(zeros<double>({n}), true);
  const Counters counters;
  for (int step = 0; step < 2; ++step) {
    sum(x).backward();
    EXPECT_GT(counters.live_bytes(), std::int64_t(n));
    EXPECT_EQ(x.grad().data()[n - 1], 1);
    x.zero_grad();
    EXPECT_LT(counters.live_bytes(), 1000);
  }
}

TEST(GradientMemory, IsFreedForAResultThatIsStillHeld) {
  const std::size_t n = 64 * 64 * sizeof(double);
  const V x(ones<double>({64, 64}), true), w(ones<double>({64, 64}));
  matmul(x, w);  // makes the work space of products
  const Counters counters;
  const V y = matmul(x, w);  // its backward only reads dy
  sum(y).backward();
  EXPECT_LT(counters.live_bytes(), std::int64_t(2.5 * n));  // y and the gradient of x
}

// The graph lives on, but neither the partial sum nor the gradient that the op got.
TEST(GradientMemory, IsFreedAfterABackwardThatThrew) {
  const V x(ones<double>({64, 64}), true);
  const V y = apply<double>(std::make_unique<Throws>(), {scale(x, 2)});
  const Counters counters;
  EXPECT_THROW(y.backward(ones<double>({64, 64})), std::runtime_error);
  EXPECT_LT(counters.live_bytes(), 64);
}

// The gradient of a linear layer's result makes room for its rounded copy.
TEST(GradientMemory, IsFreedWhenAProductHasRoundedIt) {
  const Variable<float> w(ones<float>({256, 256}), true);
  const Autocast products;
  const auto peak = [&] {
    const Variable<float> x(ones<float>({512, 256}), true);
    w.zero_grad();
    const Variable<float> h = scale(x, 1);
    const Counters counters;
    sum(linear(h, w)).backward();
    return double(counters.peak_bytes()) / (512 * 256 * sizeof(float));
  };
  peak();  // makes the work space of products, and the gradient of w
  EXPECT_LT(peak(), 4);
}

}  // namespace xgrad::test
