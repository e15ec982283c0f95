#include <xgrad/autograd/observer.hpp>

#include <gtest/gtest.h>

#include <string>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

struct Notes final : OpObserver {
  void begin(const char* name) override { text += std::string("<") + name; }
  void done() override { text += "."; }
  void end(const OpCall& call) override {
    text += std::string(call.kind == OpCall::Kind::backward ? " back" : "") + ">";
    calls.push_back(call);
  }
  std::string text;
  std::vector<OpCall> calls;
};

Variable<double> leaf(const Shape& shape) {
  return Variable<double>(test::random_tensor(shape, Rng(1), -1, 1), true);
}

TEST(Observer, SeesForwardAndBackwardInTheirOrder) {
  const Variable<double> x = leaf({2, 3}), w = leaf({4, 3});
  Notes notes;
  {
    const ScopedObserver observing(notes);
    const Region region("step");
    sum(relu(linear(x, w))).backward();
  }
  EXPECT_EQ(notes.text, "<step<linear.><relu.><sum.><sum. back><relu. back><linear. back>.>");
  const OpCall& product = notes.calls.front();
  EXPECT_EQ(product.inputs[0].value, x.shared_value().get());
  EXPECT_EQ(product.inputs[1].shape, (Shape{4, 3}));
  EXPECT_EQ(product.inputs[2].value, nullptr) << "no bias";
  EXPECT_EQ(product.result.shape, (Shape{2, 4}));
  EXPECT_EQ(product.scalar, sizeof(double));
  EXPECT_TRUE(notes.calls[5].inputs[0].gradient);
  EXPECT_TRUE(notes.calls[5].result.gradient);
  EXPECT_FALSE(product.result.gradient);
  EXPECT_FALSE(notes.calls[5].inputs[2].gradient);
}

TEST(Observer, IsToldNothingOnceItIsGone) {
  Notes outer, inner;
  const ScopedObserver observing(outer);
  {
    const ScopedObserver other(inner);
    relu(leaf({2}));
  }
  relu(leaf({2}));
  EXPECT_EQ(outer.text, "<relu.>");
  EXPECT_EQ(inner.text, "<relu.>");
}

TEST(Counters, CountMatrixProductsForwardAndBackward) {
  const Variable<double> x = leaf({5, 3}), w = leaf({4, 3});
  const Counters counters;
  const Variable<double> y = sum(linear(x, w));
  EXPECT_EQ(counters.flops(), 2u * 5 * 3 * 4);
  y.backward();
  EXPECT_EQ(counters.flops(), 3 * 2u * 5 * 3 * 4) << "dx and dw are a product each";
  attention(leaf({2, 7, 6}), leaf({2, 5, 6}), leaf({2, 5, 6}), {.heads = 3});
  EXPECT_EQ(counters.flops(), 3 * 2u * 5 * 3 * 4 + 2u * 2 * (2 * 7 * 5 * 6)) << "scores, values";
}

TEST(Counters, FollowTheMemoryOfTensors) {
  auto before = std::make_unique<Tensor<double>>(zeros<double>({1000}));
  const Counters counters;
  {
    const Tensor<float> a = zeros<float>({1000});
    EXPECT_EQ(counters.live_bytes(), 4000);
    const Tensor<double> b = zeros<double>({100, 1000});
    EXPECT_EQ(counters.live_bytes(), 4000 + 800000);
  }
  EXPECT_EQ(counters.live_bytes(), 0);
  before.reset();
  EXPECT_EQ(counters.live_bytes(), -8000);
  EXPECT_EQ(counters.peak_bytes(), 4000 + 800000);
}

TEST(Counters, LeaveOutMemoryThatCouldNotBeHad) {
  const Counters counters;
  EXPECT_THROW(empty<double>({std::size_t(1) << 50}), std::bad_alloc);
  EXPECT_EQ(counters.live_bytes(), 0);
  EXPECT_EQ(counters.peak_bytes(), 0);
}

TEST(Counters, CountForOneAtATime) {
  const Counters counters;
  EXPECT_THROW(Counters(), Error);
}

}  // namespace
}  // namespace xgrad
