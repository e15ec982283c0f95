// Small graphs that are cut at a known op; and every op of a model, cut by force.
#include <xgrad/train/diagnose/trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/recompute.hpp>
#include <xgrad/layers/layers.hpp>

#include "support/errors.hpp"
#include "support/tensors.hpp"
#include "train/loop/planter.hpp"

namespace xgrad {
namespace {

using V = Variable<double>;

struct Layers {
  Parameters<double> parameters{1};
  Linear<double> first{parameters.root() / "first", 3, 4},
      second{parameters.root() / "second", 4, 2};
  V x{test::random_tensor({5, 3}, Rng(2))};
  V z{test::random_tensor({5, 4}, Rng(3))};
};

using Forward = std::function<V(const Layers&)>;

// Of first.weight, after the backward of a loss.
std::string end(const Forward& loss) {
  const Layers layers;
  const GradientFlow<double> flow(layers.parameters);
  loss(layers).backward();
  return flow.end_of(*layers.parameters.begin());
}

V constant(const Shape& shape, double value) {
  return V(full<double>(shape, value));
}

TEST(GradientFlow, AnOpThatPassesOnZeros) {
  EXPECT_EQ(end([](const Layers& l) {
              return sum(l.second(relu(add(l.first(l.x), constant({4}, -1e3)))));
            }),
            "op 3 relu in first has a gradient, but passes on only zeros");
  EXPECT_EQ(end([](const Layers& l) {
              return sum(relu(l.second(mul(l.first(l.x), constant({5, 4}, 0)))));
            }),
            "op 2 mul in first has a gradient, but passes on only zeros");
}

TEST(GradientFlow, OfSeveralOpsTheOneNextToTheLoss) {
  EXPECT_EQ(end([](const Layers& l) {
              const V y = l.first(l.x);                       // op 1
              const V a = mul(y, constant({5, 4}, 0));        // op 2
              const V b = relu(add(y, constant({4}, -1e3)));  // ops 3 and 4
              return sum(l.second(add(a, b)));
            }),
            "op 4 relu in first has a gradient, but passes on only zeros");
}

// An op with a backward that forgets its input.
struct Forgetful final : Op<double> {
  const char* name() const override { return "forgetful"; }
  Value<double> forward(const Inputs<double>& x) override {
    return as_value<double>(Tensor<double>(x[0]));
  }
  void backward(Tensor<double>&, Grads<double>&) const override {}
};

TEST(GradientFlow, AnOpThatPassesOnNone) {
  EXPECT_EQ(end([](const Layers& l) {
              return sum(l.second(apply<double>(std::make_unique<Forgetful>(), {l.first(l.x)})));
            }),
            "op 2 forgetful in first has a gradient, but passes on none");
}

TEST(GradientFlow, ADetachedVariable) {
  EXPECT_EQ(end([](const Layers& l) { return sum(l.second(l.first(l.x).detach())); }),
            "op 2 linear in second reads the output of op 1 linear in first without a gradient");
  EXPECT_EQ(end([](const Layers& l) { return sum(l.second(relu(l.first(l.x).detach()))); }),
            "op 2 relu in first reads the output of op 1 linear in first without a gradient");
  EXPECT_EQ(
      end([](const Layers& l) { return sum(l.second(linear(l.x, l.first.weight().detach()))); }),
      "op 1 linear in first reads the parameter without a gradient");
}

TEST(GradientFlow, OneThatPassesOnZerosBeforeADetachedVariable) {
  EXPECT_EQ(end([](const Layers& l) {
              const V y = l.first(l.x);
              return sum(l.second(add(mul(y, constant({5, 4}, 0)), y.detach())));
            }),
            "op 2 mul in first has a gradient, but passes on only zeros");
}

TEST(GradientFlow, AnOpUnderNoGrad) {
  EXPECT_EQ(end([](const Layers& l) {
              const V y = l.first(l.x);
              std::optional<V> hidden;
              {
                const NoGrad no_grad;
                hidden = relu(y);
              }
              return sum(l.second(*hidden));
            }),
            "op 2 relu in first reads the output of op 1 linear in first without a gradient");
}

TEST(GradientFlow, AnOutputWithoutEffect) {
  EXPECT_EQ(end([](const Layers& l) { return sum(l.second(l.z)); }), "no op reads it");
  EXPECT_EQ(end([](const Layers& l) {
              relu(l.first(l.x));
              return sum(l.second(l.z));
            }),
            "the loss does not depend on op 2 relu in first");
  EXPECT_EQ(end([](const Layers& l) {
              const V y = l.first(l.x);
              {
                const NoGrad no_grad;
                sum(y);  // a metric, which the loss does not read
              }
              return sum(l.second(l.z));
            }),
            "the loss does not depend on op 1 linear in first");
}

// The memory of an output that nobody keeps is soon that of another value.
TEST(GradientFlow, AValueAtTheAddressOfAnother) {
  EXPECT_EQ(end([](const Layers& l) {
              V total = sum(l.second(l.z));
              for (int i = 0; i < 20; ++i) {
                l.first(l.x);
                total = add(total, sum(l.second(constant({5, 4}, i))));
              }
              return total;
            }),
            "the loss does not depend on op 79 linear in first");
}

TEST(GradientFlow, ARecomputedFunction) {
  EXPECT_EQ(end([](const Layers& l) {
              const V x(test::random_tensor({5, 3}, Rng(2)), true);
              return sum(l.second(recompute<double>(
                  [&](const V& y) { return relu(add(l.first(y), constant({4}, -1e3))); }, x)));
            }),
            "op 9 relu in first has a gradient, but passes on only zeros");
}

TEST(GradientFlow, SeveralBackwards) {
  const Layers layers;
  const GradientFlow<double> flow(layers.parameters);
  for (const double shift : {0.0, -1e3}) {
    const V y = relu(add(layers.first(layers.x), constant({4}, shift)));
    const V s = sum(scale(layers.second(y), 3));
    s.backward();
    EXPECT_EQ(flow.gradient_of(s), 1);
    double largest = 0;  // 3 times a column's sum
    for (std::size_t i = 0; i < 4; ++i) {
      const double* w = layers.second.weight().value().data();
      largest = std::max(largest, 3 * std::abs(w[i] + w[4 + i]));
    }
    EXPECT_NEAR(flow.gradient_of(y), largest, 1e-12);
  }
  EXPECT_GT(flow.gradient_of(layers.first.weight()), 0);
  EXPECT_EQ(flow.gradient_of(layers.z), 0) << "not read";
}

// Sets the gradients of an op's inputs to 0 after its backward, with all that other ops have given.
struct Cutter final : OpObserver {
  void begin(const char* name) override {
    if (std::string_view(name) == "model") count = 0;
  }
  void end(const OpCall& call) override {
    if (call.kind == OpCall::Kind::forward && ++count == at) {
      node = call.node;
      op = call.name;
    }
    if (call.kind != OpCall::Kind::backward || call.node != node) return;
    for (const Operand& x : call.inputs) {
      if (x.value == nullptr) continue;
      auto& gradient = *static_cast<Tensor<float>*>(const_cast<void*>(x.value));
      std::fill_n(gradient.data(), gradient.size(), 0.0f);
    }
  }

  std::size_t at = 0, count = 0;
  std::uint64_t node = 0;
  std::string op;
};

// A loss without a gradient is that of a solved task.
TEST(GradientFlow, AnyOpOfAModelButTheLoss) {
  std::size_t count = 1;
  Cutter cutter;
  const ScopedObserver observing(cutter);
  for (cutter.at = 1; cutter.at <= count; ++cutter.at) {
    Trainer<float> trainer(test::planted_config());
    const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
    count = cutter.count;
    const std::string expected = ": op " + std::to_string(cutter.at) + " " + cutter.op + " in ";
    EXPECT_EQ(said.find(expected) == std::string::npos, cutter.op == "cross_entropy")
        << expected << "\n"
        << said;
  }
  EXPECT_GE(count, 14u);
}

}  // namespace
}  // namespace xgrad
