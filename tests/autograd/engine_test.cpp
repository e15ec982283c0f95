#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

V leaf(const Shape& shape, std::initializer_list<double> values) {
  return V(tensor(shape, values), true);
}

// x passes; backward does as told.
struct Probe final : Op<double> {
  explicit Probe(std::function<void(Tensor<double>, Grads<double>&)> back)
      : back(std::move(back)) {}
  const char* name() const override { return "probe"; }
  Value<double> forward(const Inputs<double>& x) override {
    saved = x.save(0);
    return std::make_shared<Versioned<double>>(x[0]);
  }
  void backward(Tensor<double>& dy, Grads<double>& dx) const override { back(std::move(dy), dx); }

  std::function<void(Tensor<double>, Grads<double>&)> back;
  Saved<double> saved;
};

V probe(const V& x, std::function<void(Tensor<double>, Grads<double>&)> back) {
  return apply<double>(std::make_unique<Probe>(std::move(back)), {x});
}

void pass(Tensor<double> dy, Grads<double>& dx) {
  dx.add(0, std::move(dy));
}

// Whether loss.backward(x) compiles.
template <class X>
concept Backward = requires(const V& loss, const X& x) {
  loss.backward(x);
};

// A number converts to bool, which says whether to retain the graph.
static_assert(Backward<bool> && Backward<Tensor<double>>);
static_assert(!Backward<float> && !Backward<double> && !Backward<int> && !Backward<char>);
static_assert(!Backward<Tensor<double>*> && !Backward<std::nullptr_t> && !Backward<const char*>);

struct WithoutDerivative final : Op<double> {
  const char* name() const override { return "floor"; }
  Value<double> forward(const Inputs<double>& x) override {
    return std::make_shared<Versioned<double>>(x[0]);
  }
};

}  // namespace

TEST(Engine, FollowsBothSidesOfADiamond) {
  const V x = leaf({2}, {3, -5});
  const V a = scale(x, 2);
  const V b = mul(x, x);
  mul(a, b).backward(tensor({2}, {1, 1}));  // 2 x^3
  EXPECT_TRUE(same_bits(x.grad(), tensor({2}, {54, 150})));
}

TEST(Engine, AddsUpWhatComesFromEveryUse) {
  const V x = leaf({1}, {4});
  V y = scale(x, 1);
  for (int i = 2; i <= 10; ++i) y = add(y, scale(x, i));
  y.backward(tensor({1}, {1}));
  EXPECT_EQ(x.grad().data()[0], 55);
}

TEST(Engine, AddsUpOverCallsUntilZeroGrad) {
  const V x = leaf({1}, {4});
  scale(x, 3).backward();
  scale(x, 5).backward();
  EXPECT_EQ(x.grad().data()[0], 8);
  x.zero_grad();
  EXPECT_FALSE(x.has_grad());
  EXPECT_TRUE(throws_with<GradientError>([&] { x.grad(); }, "has no gradient"));
  scale(x, 7).backward();
  EXPECT_EQ(x.grad().data()[0], 7);
}

TEST(Engine, TakesTheSameVariableForBothOperands) {
  const V x = leaf({1}, {3});
  mul(x, x).backward();
  EXPECT_EQ(x.grad().data()[0], 6);
}

TEST(Engine, AddsACopyOfAGradientThatTheOpKeeps) {
  const V x = leaf({2}, {1, 2});
  probe(x, [](Tensor<double> dy, Grads<double>& dx) {
    dx.add(0, dy);
    dx.add(0, dy);
    EXPECT_TRUE(same_bits(dy, tensor({2}, {3, 4})));
  }).backward(tensor({2}, {3, 4}));
  EXPECT_TRUE(same_bits(x.grad(), tensor({2}, {6, 8})));
}

// A recursion of this depth would overflow the stack, on the way back and when the graph goes.
TEST(Engine, WalksAndFreesAChainOfAnyLength) {
  const V x = leaf({1}, {1});
  const auto chain = [&x] {
    V y = x;
    for (int i = 0; i < 100000; ++i) y = scale(y, i % 2 == 0 ? 2 : 0.5);
    return y;
  };
  chain();
  chain().backward();
  EXPECT_EQ(x.grad().data()[0], 1);
  const V kept = chain();
  kept.backward(true);
  EXPECT_EQ(x.grad().data()[0], 2);
}

TEST(Engine, SaysThatAGraphWasReleased) {
  const V x = leaf({1}, {1});
  const V y = scale(x, 2);
  y.backward();
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(); }, "'scale' was released"));
  EXPECT_EQ(x.grad().data()[0], 2);

  const V shared = scale(x, 2);
  scale(shared, 3).backward();
  EXPECT_TRUE(throws_with<GradientError>([&] { tanh(shared).backward(); }, "'scale' was released"));
}

TEST(Engine, WalksARetainedGraphAgain) {
  const V x = leaf({1}, {3});
  const V y = mul(mul(x, x), x);
  y.backward(true);
  y.backward(true);
  y.backward();
  EXPECT_EQ(x.grad().data()[0], 81);
}

TEST(Engine, RecordsNothingUnderNoGrad) {
  const V x = leaf({1}, {3});
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(scale(x, 2).requires_grad());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(scale(x, 2).requires_grad());
}

TEST(Engine, RecordsOnOtherThreadsUnderNoGrad) {
  const NoGrad here;
  bool there = false;
  std::thread([&] { there = grad_enabled(); }).join();
  EXPECT_TRUE(there);
}

TEST(Engine, RefusesBackwardWhereNothingWantsIt) {
  const V constant(tensor({1}, {3}));
  EXPECT_TRUE(
      throws_with<GradientError>([&] { scale(constant, 2).backward(); },
                                 "this Variable does not depend on one that requires a gradient"));
  const V x = leaf({1}, {3});
  EXPECT_TRUE(
      throws_with<GradientError>([&] { scale(x, 2).detach().backward(); },
                                 "this Variable does not depend on one that requires a gradient"));
}

TEST(Engine, RefusesDyOfAnotherShape) {
  const V y = scale(leaf({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        y.backward(zeros<double>({3, 2}));
      },
      "dy: expected (2, 3), got (3, 2)"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { y.backward(); }, "one element, got shape (2, 3)"));
}

TEST(Engine, SaysWhichOpHasNoBackward) {
  const V x = leaf({1}, {3});
  const V y = apply<double>(std::make_unique<WithoutDerivative>(), {x});
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(); }, "floor: this op has no backward"));
}

// y = probe(a) + a, and the probe throws at first: what had arrived at a is forgotten.
TEST(Engine, StartsCleanAfterABackwardThatThrew) {
  const V x = leaf({1}, {3});
  const V a = scale(x, 1);
  bool fail = true;
  const V b = probe(a, [&](Tensor<double> dy, Grads<double>& dx) {
    if (fail) throw std::runtime_error("once");
    pass(std::move(dy), dx);
  });
  const V y = add(a, b);
  EXPECT_THROW(y.backward(true), std::runtime_error);
  fail = false;
  y.backward(true);
  EXPECT_EQ(x.grad().data()[0], 2);
}

// y = w x + probe(v), and the probe throws at first: what had come to w and x is not a gradient.
TEST(Engine, LeavesNoPartOfAGradientWhenABackwardThrows) {
  const V w = leaf({1}, {5}), x = leaf({1}, {3}), v = leaf({1}, {7});
  bool fail = true;
  const V a = probe(v, [&](Tensor<double> dy, Grads<double>& dx) {
    dx.target(0).data()[0] = dy.data()[0];
    if (fail) throw std::runtime_error("once");
  });
  scale(x, 2).backward();
  const V y = add(a, mul(w, x));
  EXPECT_THROW(y.backward(true), std::runtime_error);
  EXPECT_FALSE(w.has_grad());
  EXPECT_FALSE(v.has_grad());
  EXPECT_TRUE(x.has_grad());  // a sum that had begun before
  x.zero_grad();
  fail = false;
  y.backward(true);
  EXPECT_EQ(w.grad().data()[0], 3);
  EXPECT_EQ(x.grad().data()[0], 5);
  EXPECT_EQ(v.grad().data()[0], 1);
}

TEST(Engine, HasNoGradientWhereThereWasNoMemoryForIt) {
  const auto large = std::make_shared<Node<double>>("leaf", Shape{std::size_t(1) << 50});
  Node<double> node("probe", {1});
  node.inputs = {large};
  Grads<double> dx(node);
  EXPECT_THROW(dx.target(0), std::bad_alloc);
  EXPECT_FALSE(large->has_grad);
}

TEST(Engine, SaysWhichOpGaveAGradientOfTheWrongShape) {
  const V x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto give = [&](const Shape& shape) {
    probe(x, [&](Tensor<double>, Grads<double>& dx) {
      dx.add(0, zeros<double>(shape));
    }).backward(zeros<double>({2, 3}));
  };
  const std::string message = "probe: backward: gradient of input 0: expected (2, 3), got ";
  EXPECT_TRUE(throws_with<ShapeError>([&] { give({3}); }, message + "(3)"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { give({2, 4}); }, message + "(2, 4)"));
  EXPECT_NO_THROW(give({5, 2, 3}));
}

// Whether the input had a gradient or not, and wants one or not: the first call takes the elements.
TEST(Engine, SaysWhichOpPassedAGradientOnTwice) {
  const V x = leaf({2}, {1, 2});
  const V y = probe(x, [&](Tensor<double> dy, Grads<double>& dx) {
    dx.add(0, std::move(dy));
    dx.add(0, dy);
  });
  const std::string message = "probe: backward: gradient of input 0: an earlier add() has taken";
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(throws_with<ShapeError>([&] { y.backward(tensor({2}, {3, 4}), true); }, message));
    x.make_grad();
  }
}

// Memory falls during the walk: at the first op's backward, the last op's saved tensors are gone.
TEST(Engine, ReleasesSavedTensorsOnTheWay) {
  const V x = leaf({1}, {3});
  std::weak_ptr<Tensor<double>> between;
  bool gone = false;
  V y = probe(x, [&](Tensor<double> dy, Grads<double>& dx) {
    gone = between.expired();
    pass(std::move(dy), dx);
  });
  between = y.shared_value();
  y = probe(y, pass);
  EXPECT_FALSE(between.expired());
  y.backward();
  EXPECT_TRUE(gone);
}

TEST(Engine, KeepsSavedTensorsOfARetainedGraph) {
  const V x = leaf({1}, {3});
  V y = scale(x, 1);
  const std::weak_ptr<Tensor<double>> between = y.shared_value();
  y = probe(y, pass);
  y.backward(true);
  EXPECT_FALSE(between.expired());
}

TEST(Engine, FreesAGraphThatNobodyHolds) {
  const V x = leaf({1}, {3});
  std::weak_ptr<Node<double>> node;
  {
    const V y = tanh(scale(x, 2));
    node = y.node();
  }
  EXPECT_TRUE(node.expired());
}

TEST(Engine, LeavesAloneWhatWantsNoGradient) {
  const V x = leaf({1}, {3});
  const V constant(tensor({1}, {5}));
  mul(x, constant).backward();
  EXPECT_EQ(x.grad().data()[0], 5);
  EXPECT_FALSE(constant.has_grad());
}

TEST(Engine, GivesALeafItsOwnBackward) {
  const V x = leaf({2}, {3, 4});
  x.backward(tensor({2}, {5, 6}));
  EXPECT_TRUE(same_bits(x.grad(), tensor({2}, {5, 6})));
}

// A gradient of the result's shape is summed over every axis along which the input was repeated.
TEST(Engine, UndoesBroadcasts) {
  const Shape full_shape{2, 3, 4};
  const Tensor<double> dy = normal_tensor(full_shape, Rng(1));
  const std::vector<Shape> shapes = {{},        {1},       {4},       {3, 1},
                                     {1, 4},    {3, 4},    {1, 1, 1}, {2, 1, 1},
                                     {1, 3, 1}, {1, 1, 4}, {2, 1, 4}, {2, 3, 4}};
  for (const Shape& shape : shapes) {
    const V x(zeros<double>(shape), true);
    add(V(zeros<double>(full_shape)), x).backward(dy);
    Tensor<double> expected = zeros<double>(shape);
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t index[] = {i / 12, i / 4 % 3, i % 4};
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        at = at * shape[axis] + (shape[axis] == 1 ? 0 : index[3 - shape.size() + axis]);
      }
      expected.data()[at] += dy.data()[i];
    }
    EXPECT_TRUE(tensors_near(x.grad(), expected, 1e-14)) << to_string(shape);
  }
}

TEST(Engine, MakesAGradientOfZerosToWrite) {
  const V x = leaf({2}, {1, 2});
  x.make_grad().data()[1] = 5;
  EXPECT_EQ(x.grad(), (Tensor<double>{0, 5}));
  scale(x, 3).backward(Tensor<double>{1, 1});
  EXPECT_EQ(x.make_grad(), (Tensor<double>{3, 8}));
  x.zero_grad();
  EXPECT_FALSE(x.has_grad());
  EXPECT_EQ(x.make_grad(), (Tensor<double>{0, 0}));
  EXPECT_THROW(scale(x, 3).make_grad(), GradientError);
  EXPECT_THROW(V(zeros<double>({2})).make_grad(), GradientError);
}

TEST(Engine, DifferentiatesGraphsOnTwoThreads) {
  const auto work = [](double* result) {
    const V x = leaf({1}, {1});
    for (int round = 0; round < 200; ++round) {
      V y = x;
      for (int i = 0; i < 20; ++i) y = add(scale(y, 0.5), x);
      y.backward();
    }
    *result = x.grad().data()[0];
  };
  double here = 0;
  double there = 0;
  std::thread other(work, &there);
  work(&here);
  other.join();
  EXPECT_EQ(here, there);
  EXPECT_NEAR(here, 200 * (2 - std::ldexp(1.0, -20)), 1e-9);
}

}  // namespace xgrad::test
