// Tensors of another shape, given to a leaf through mutable_value() and mutable_grad(): ShapeError
// at the next use.
#include <gtest/gtest.h>

#include <functional>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

#include "support/errors.hpp"

namespace xgrad::test {

namespace {

using V = Variable<float>;

const Shape kShape{100, 100};

V leaf() {
  return V(ones<float>(kShape), true);
}

// Uses of a leaf (100, 100) that write its gradient: by adding a tensor, and in place.
const std::vector<std::function<V(const V&)>> kUses = {
    [](const V& x) { return sum(mul(x, x)); },
    [](const V& x) {
      return sum(linear(V(ones<float>({2, 100})), x));
    },
    [](const V& x) { return sum(embedding(x, zeros<std::int32_t>({3}))); },
};

const std::vector<std::function<void(Tensor<float>&)>> kChanges = {
    [](Tensor<float>& x) { x = ones<float>({1}); },
    [](Tensor<float>& x) { x = ones<float>({10'000}); },
    [](Tensor<float>& x) {
      x = ones<float>({200, 100});
    },
    [](Tensor<float>& x) { const Tensor<float> taken = std::move(x); },
};

}  // namespace

// 10,000 gradients were added to a tensor of one element.
TEST(ChangedShape, OfAGradientIsRefusedByBackward) {
  for (const auto& use : kUses) {
    for (const auto& change : kChanges) {
      const V x = leaf();
      change(x.make_grad());
      EXPECT_THROW(use(x).backward(), ShapeError);
      x.zero_grad();
      use(x).backward();
      EXPECT_EQ(x.grad().shape(), kShape);
    }
  }
}

TEST(ChangedShape, OfAGradientIsRefusedByWhatReadsIt) {
  const V x = leaf();
  x.make_grad() = ones<float>({1});
  const std::string said = message_of<ShapeError>([&] { x.grad(); });
  EXPECT_NE(said.find("expected shape (100, 100), got (1)"), std::string::npos) << said;
  EXPECT_THROW(x.mutable_grad(), ShapeError);
  EXPECT_THROW(x.make_grad(), ShapeError);
  x.zero_grad();
  EXPECT_EQ(x.make_grad(), zeros<float>(kShape));
}

TEST(ChangedShape, OfAScalarsGradientThatWasMovedAwayIsRefused) {
  const V x(ones<float>({}), true);
  const Tensor<float> taken = std::move(x.make_grad());
  EXPECT_THROW(mul(x, x).backward(), ShapeError);
}

TEST(ChangedShape, OfAValueIsRefusedByTheNextUse) {
  for (const auto& change : kChanges) {
    const V x = leaf();
    change(x.mutable_value());
    EXPECT_THROW(mul(x, x), ShapeError);
    EXPECT_THROW(x.make_grad(), ShapeError);
    EXPECT_THROW(x.mutable_value(), ShapeError);
    EXPECT_THROW(x.backward(ones<float>(x.shape())), ShapeError);
  }
}

// Writing through a reference that was kept is not counted as a change.
TEST(ChangedShape, ThroughAKeptReferenceIsRefusedByBackward) {
  for (const bool constant : {false, true}) {
    const V x = leaf(), y(ones<float>(kShape), !constant);
    Tensor<float>& kept = y.mutable_value();
    const V product = sum(mul(x, y));
    kept = ones<float>({1});
    EXPECT_THROW(product.backward(), GradientError);
  }
}

TEST(ChangedShape, OfAConstantIsAllowed) {
  const V x(ones<float>({2}));
  x.mutable_value() = full({3}, 2.0f);
  EXPECT_EQ(mul(x, x).value(), full({3}, 4.0f));
}

// A frozen parameter is a constant, but the model has its shape.
TEST(ChangedShape, OfAParameterIsRefusedByItsName) {
  for (const bool frozen : {false, true}) {
    Parameters<float> parameters(1);
    parameters.freeze([&](const std::string&) { return frozen; });
    const Initializer init = [](std::span<double>, const Shape&, const Rng&) {};
    const V x = (parameters.root() / "a").parameter("x", {2, 3}, init);
    EXPECT_EQ(&parameters.begin()->value(), &x.value());
    x.mutable_value() = ones<float>({3, 2});
    const std::string said = message_of<ShapeError>([&] { parameters.begin()->value(); });
    EXPECT_NE(said.find("a.x: expected shape (2, 3), got (3, 2)"), std::string::npos) << said;
  }
}

}  // namespace xgrad::test
