// Ops against what PyTorch computes: values and gradients.
#include <gtest/gtest.h>

#include <functional>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

using Arguments = std::vector<Variable<double>>;

const test::Golden& golden() {
  static const test::Golden file("torch_ops.txt");
  return file;
}

// Value and gradients of `f` at the inputs that the file names for the case.
void expect_as_torch(const std::string& name, const std::vector<std::string>& inputs,
                     const std::function<Variable<double>(const Arguments&)>& f) {
  Arguments x;
  for (const std::string& input : inputs) x.emplace_back(golden()(name + "." + input), true);
  const Variable<double> y = f(x);
  EXPECT_TRUE(test::tensors_near(y.value(), golden()(name + ".y"), 1e-13, 1e-12)) << name;
  y.backward(golden()(name + ".dy"));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(test::tensors_near(x[i].grad(), golden()(name + ".d" + inputs[i]), 1e-13, 1e-12))
        << name << ", d" << inputs[i];
  }
}

TEST(TorchOps, S1_4_LayerNorm) {
  expect_as_torch("layer_norm", {"x", "weight", "bias"},
                  [](const Arguments& x) { return layer_norm(x[0], x[1], x[2]); });
}

TEST(TorchOps, S1_5_BatchNorm) {
  expect_as_torch("batch_norm", {"x", "weight", "bias"},
                  [](const Arguments& x) { return batch_norm(x[0], x[1], x[2]); });
}

TEST(TorchOps, Gelu) {
  expect_as_torch("gelu", {"input"}, [](const Arguments& x) { return gelu(x[0]); });
  expect_as_torch("gelu_tanh", {"input"},
                  [](const Arguments& x) { return gelu(x[0], Gelu::tanh); });
}

TEST(TorchOps, Softmax) {
  expect_as_torch("softmax", {"x"}, [](const Arguments& x) { return softmax(x[0]); });
  expect_as_torch("log_softmax", {"x"}, [](const Arguments& x) { return log_softmax(x[0]); });
}

TEST(TorchOps, Linear) {
  expect_as_torch("linear", {"input", "weight", "bias"},
                  [](const Arguments& x) { return linear(x[0], x[1], x[2]); });
}

TEST(TorchOps, CrossEntropy) {
  for (const bool smoothed : {false, true}) {
    for (const bool weighted : {false, true}) {
      const std::string kind =
          smoothed ? (weighted ? "both" : "smoothed") : (weighted ? "weighted" : "plain");
      CrossEntropyOptions options;
      if (smoothed) options.label_smoothing = 0.1;
      if (weighted) options.class_weights = {0.5, 1.0, 2.0, 0.25, 1.5};
      const std::string name = "cross_entropy." + kind;
      const Ids targets = golden().ids(name + ".targets");
      expect_as_torch(name, {"x"},
                      [&](const Arguments& x) { return cross_entropy(x[0], targets, options); });
    }
  }
}

TEST(TorchOps, S0_9_Attention) {
  AttentionOptions options;
  options.heads = 2;
  const auto f = [&](const Arguments& x) { return attention(x[0], x[1], x[2], options); };
  expect_as_torch("attention.full", {"q", "k", "v"}, f);
  options.masks.key_mask = std::make_shared<Mask>(golden().mask("attention.masked.mask"));
  expect_as_torch("attention.masked", {"q", "k", "v"}, f);
}

TEST(TorchOps, Arithmetic) {
  expect_as_torch("div", {"input", "other"}, [](const Arguments& x) { return div(x[0], x[1]); });
  expect_as_torch("pow", {"input", "exponent"}, [](const Arguments& x) { return pow(x[0], x[1]); });
  const Variable<double> exponent(golden()("pow_zeros.exponent"));
  expect_as_torch("pow_zeros", {"input"}, [&](const Arguments& x) { return pow(x[0], exponent); });
}

TEST(TorchOps, ElementwiseFunctions) {
  expect_as_torch("exp", {"input"}, [](const Arguments& x) { return exp(x[0]); });
  expect_as_torch("log", {"input"}, [](const Arguments& x) { return log(x[0]); });
  expect_as_torch("sqrt", {"input"}, [](const Arguments& x) { return sqrt(x[0]); });
  expect_as_torch("clamp", {"input"}, [](const Arguments& x) { return clamp(x[0], -1, 1.5); });
  expect_as_torch("symlog", {"input"}, [](const Arguments& x) { return symlog(x[0]); });
}

TEST(TorchOps, Where) {
  const Mask condition = golden().mask("where.condition");
  expect_as_torch("where", {"input", "other"},
                  [&](const Arguments& x) { return where(condition, x[0], x[1]); });
}

TEST(TorchOps, Gather) {
  const Ids indices = golden().ids("gather.indices");
  expect_as_torch("gather", {"input"}, [&](const Arguments& x) { return take(x[0], 1, indices); });
}

}  // namespace
}  // namespace xgrad
