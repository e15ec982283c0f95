// Whole models against PyTorch's own modules: logits, loss, gradients, and what 100 steps of AdamW
// make of them.
#include <gtest/gtest.h>

#include <xgrad/layers/models/models.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

const test::Golden& golden() {
  static const test::Golden file("torch_models.txt");
  return file;
}

// Far below any mistake of a formula, above what another order of additions makes of 1e-16.
constexpr double kOneStep = 1e-12;
constexpr double kHundredSteps = 1e-9;

struct Case {
  std::string name;
  EncoderModelOptions options;
  double label_smoothing = 0;
};

EncoderModelOptions tokens(std::size_t classes) {
  EncoderModelOptions o;
  o.input.vocabulary = 7;
  o.input.max_length = 5;
  o.encoder.layers = 2;
  o.encoder.attention.width = 8;
  o.encoder.attention.heads = 2;
  o.encoder.feedforward = 12;
  o.classes = classes;
  return o;
}

Case pre() {
  return {"pre", tokens(4)};
}

Case post() {
  Case c{"post", tokens(4), 0.1};
  c.options.encoder.norm = NormOrder::post;
  c.options.encoder.final_norm = false;
  c.options.encoder.activation = Activation::gelu_tanh;
  return c;
}

Case mean_pool() {
  Case c{"mean", tokens(3)};
  c.options.pool = Pool::mean;
  c.options.encoder.activation = Activation::relu;
  return c;
}

Case image() {
  Case c{"image", tokens(3)};
  c.options.pool = Pool::cls;
  c.options.input = {};
  c.options.input.patch = 2;
  c.options.input.height = 4;
  c.options.input.width = 6;
  c.options.input.channels = 3;
  return c;
}

// A model with PyTorch's parameters, and its batch.
template <class T>
class Twin {
 public:
  explicit Twin(const Case& c)
      : name_(c.name + "."), parameters_(1), model_(parameters_.root(), c.options) {
    loss_.label_smoothing = c.label_smoothing;
    ids_ = golden().ids(name_ + "x");
    features_ = cast<T>(golden()(name_ + "x"));
    if (c.options.input.vocabulary > 0) {
      input_.ids = &ids_;
    } else {
      input_.features = &features_;
    }
    if (golden().has(name_ + "mask")) {
      input_.mask = std::make_shared<Mask>(golden().mask(name_ + "mask"));
    }
    for (const Parameter<T>& p : parameters_) {
      p.variable.mutable_value() = cast<T>(golden()(name_ + "parameter." + p.name));
    }
  }

  const Parameters<T>& parameters() const { return parameters_; }
  Variable<T> logits() const { return model_(input_, Context{.training = true}); }
  Variable<T> loss() const {
    return cross_entropy(logits(), golden().ids(name_ + "targets"), loss_);
  }

 private:
  std::string name_;
  Parameters<T> parameters_;
  EncoderModel<T> model_;
  CrossEntropyOptions loss_;
  Ids ids_;
  Tensor<T> features_;
  ModelInput<T> input_;
};

class TorchModel : public testing::TestWithParam<Case> {
 protected:
  Tensor<double> expected(const std::string& name) const {
    return golden()(GetParam().name + "." + name);
  }
};

TEST_P(TorchModel, SameNamesAndShapes) {
  const Twin<double> twin(GetParam());
  auto unseen = golden().under(GetParam().name + ".parameter.");
  for (const Parameter<double>& p : twin.parameters()) {
    const auto found = unseen.find(p.name);
    ASSERT_NE(found, unseen.end()) << p.name;
    EXPECT_EQ(p.variable.shape(), found->second.shape()) << p.name;
    unseen.erase(found);
  }
  EXPECT_TRUE(unseen.empty()) << "missing: " << unseen.begin()->first;
}

TEST_P(TorchModel, SameLogitsLossAndGradients) {
  const Twin<double> twin(GetParam());
  EXPECT_TRUE(test::tensors_near(twin.logits().value(), expected("logits"), kOneStep, kOneStep));
  const Variable<double> loss = twin.loss();
  EXPECT_TRUE(test::tensors_near(loss.value(), expected("loss"), kOneStep));
  loss.backward();
  for (const Parameter<double>& p : twin.parameters()) {
    const Tensor<double> gradient = expected("gradient." + p.name);
    EXPECT_TRUE(test::tensors_near(p.variable.grad(), gradient, kOneStep, kOneStep)) << p.name;
  }
}

TEST_P(TorchModel, FloatFollows) {
  const Twin<float> twin(GetParam());
  EXPECT_TRUE(test::tensors_near(twin.logits().value(), expected("logits"), 1e-5, 1e-5));
  twin.loss().backward();
  for (const Parameter<float>& p : twin.parameters()) {
    const Tensor<double> gradient = expected("gradient." + p.name);
    EXPECT_TRUE(test::tensors_near(p.variable.grad(), gradient, 1e-5, 1e-5)) << p.name;
  }
}

TEST_P(TorchModel, SameAfterAHundredStepsOfAdamW) {
  const Twin<double> twin(GetParam());
  OptimizerOptions options;
  options.weight_decay = 0.05;
  const auto optimizer = make_optimizer("adamw", twin.parameters(), options);
  for (int step = 0; step < 100; ++step) {
    twin.parameters().zero_grad();
    twin.loss().backward();
    optimizer->step(3e-3);
  }
  EXPECT_TRUE(test::tensors_near(twin.loss().value(), expected("trained_loss"), kHundredSteps));
  for (const Parameter<double>& p : twin.parameters()) {
    EXPECT_TRUE(
        test::tensors_near(p.variable.value(), expected("trained." + p.name), kHundredSteps))
        << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TorchModel, testing::Values(pre(), post(), mean_pool(), image()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace xgrad
