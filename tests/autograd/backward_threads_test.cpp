// backward() on several threads, through one leaf and through leaves of their own.
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

// Passes x on; backward calls a function before it passes the gradient on.
struct Waits final : Op<double> {
  explicit Waits(std::function<void()> wait) : wait(std::move(wait)) {}
  const char* name() const override { return "waits"; }
  Value<double> forward(const Inputs<double>& x) override {
    return std::make_shared<Versioned<double>>(x[0]);
  }
  void backward(Tensor<double>& dy, Grads<double>& dx) const override {
    wait();
    dx.add(0, std::move(dy));
  }

  std::function<void()> wait;
};

V waits(const V& x, std::function<void()> wait) {
  return apply<double>(std::make_unique<Waits>(std::move(wait)), {x});
}

const Tensor<double> kOnes = full<double>({2, 3}, 1);

}  // namespace

TEST(BackwardThreads, RefuseALeafThatAnotherOneAddsTo) {
  const V x(zeros<double>({2, 3}), true), own(zeros<double>({2, 3}), true);
  const V mine = scale(add(x, own), 2);
  std::latch entered(1), leaves(1);
  const V theirs = waits(x, [&] {
    entered.count_down();
    leaves.wait();
  });
  std::thread other([&] { theirs.backward(kOnes); });
  entered.wait();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        throws_with<GradientError>([&] { mine.backward(kOnes); },
                                   "another thread's backward adds to the gradient of the leaf "
                                   "of shape (2, 3)"));
  }
  EXPECT_TRUE(throws_with<GradientError>([&] { x.backward(kOnes); }, "another thread's backward"));
  EXPECT_FALSE(own.has_grad());
  scale(own, 5).backward(kOnes);  // what was refused holds nothing
  leaves.count_down();
  other.join();
  mine.backward(kOnes);  // its graph is whole
  EXPECT_TRUE(same_bits(x.grad(), full<double>({2, 3}, 3)));
  EXPECT_TRUE(same_bits(own.grad(), full<double>({2, 3}, 7)));
}

TEST(BackwardThreads, AFailedOneGivesItsLeavesBack) {
  const V x(zeros<double>({2, 3}), true);
  const V fails = waits(x, [] { throw std::runtime_error("as told"); });
  std::thread other([&] { EXPECT_THROW(fails.backward(kOnes), std::runtime_error); });
  other.join();
  scale(x, 2).backward(kOnes);
  EXPECT_TRUE(same_bits(x.grad(), full<double>({2, 3}, 2)));
}

TEST(BackwardThreads, OneInsideOfAnotherMayAddToItsLeaves) {
  const V x(zeros<double>({2, 3}), true);
  const V inner = scale(x, 2);
  waits(x, [&] { inner.backward(kOnes); }).backward(kOnes);
  EXPECT_TRUE(same_bits(x.grad(), full<double>({2, 3}, 3)));
}

TEST(BackwardThreads, LoseNoTermWhenTheyTakeTurns) {
  constexpr int kRounds = 2000;
  const V x(zeros<double>({2, 3}), true);
  std::latch start(2);
  const auto work = [&] {
    start.arrive_and_wait();
    for (int round = 0; round < kRounds; ++round) {
      const V y = scale(x, 1);
      for (bool done = false; !done;) {
        try {
          y.backward(kOnes);
          done = true;
        } catch (const GradientError&) {
          std::this_thread::yield();
        }
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_TRUE(same_bits(x.grad(), full<double>({2, 3}, 2 * kRounds)));
}

}  // namespace xgrad::test
