// Optimizers refuse settings out of range and steps at the wrong time.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/optim/optimizers.hpp>

#include "golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::make_parameter;
using test::throws_with;

const double kNan = std::nan("");

TEST(Optimizer, RefusesSettingsThatAreOutOfRange) {
  const std::vector<std::pair<std::string, OptimizerOptions>> wrong = {
      {"betas[0]: expected 0 <= betas[0] < 1, got 2", {.betas = {2, 0.9}}},
      {"betas[0]: expected 0 <= betas[0] < 1, got -0.1", {.betas = {-0.1, 0.9}}},
      {"betas[1]: expected 0 <= betas[1] < 1, got 1", {.betas = {0.9, 1}}},
      {"betas[1]: expected 0 <= betas[1] < 1, got nan", {.betas = {0.9, kNan}}},
      {"eps: expected a finite number of at least 0, got -1", {.eps = -1}},
      {"eps: expected a finite number of at least 0, got inf", {.eps = INFINITY}},
      {"weight_decay: expected a finite number of at least 0, got nan", {.weight_decay = kNan}},
      {"momentum: expected 0 <= momentum < 1, got 1", {.momentum = 1}},
      {"nesterov needs momentum above 0", {.nesterov = true}},
      {"alpha: expected 0 <= alpha < 1, got 1.5", {.alpha = 1.5}},
  };
  Parameters<double> parameters(0);
  test::make_golden_parameters(parameters);
  for (const auto& [message, options] : wrong) {
    for (const std::string& name : optimizer_names()) {
      const OptimizerOptions& s = options;
      EXPECT_TRUE(throws_with<ConfigError>([&] { make_optimizer(name, parameters, s); },
                                           "optimizer: " + message));
    }
  }
  const auto refused = [&](const ParameterGroup& group, const std::string& message) {
    EXPECT_TRUE(throws_with<ConfigError>(
        [&] { make_optimizer("sgd", parameters, {.groups = {group}}); },
        "optim.groups[0]." + message + ", must be a finite number of at least 0"));
  };
  refused({.match = "*", .lr_scale = -1}, "lr_scale: is -1");
  refused({.match = "*", .weight_decay = kNan}, "weight_decay: is nan");
}

TEST(Optimizer, RefusesAStepThatIsNone) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> parameters(0), fresh(0);
    test::make_golden_parameters(parameters);
    test::make_golden_parameters(fresh);
    const auto optimizer = make_optimizer(name, parameters, {});
    test::set_golden_gradients(parameters, 0);
    const auto refused = [&](double lr, double grad_scale, const std::string& message) {
      EXPECT_TRUE(throws_with<NumericError>([&] { optimizer->step(lr, grad_scale); },
                                            "optimizer: step: " + message));
    };
    const std::string expected = ": expected a finite number of at least 0, got ";
    refused(kNan, 1, "lr" + expected + "nan");
    refused(-0.1, 1, "lr" + expected + "-0.1");
    refused(0.1, INFINITY, "grad_scale" + expected + "inf");
    refused(0.1, -1, "grad_scale" + expected + "-1");
    EXPECT_EQ(optimizer->steps(), 0u);
    for (const auto& p : parameters) EXPECT_EQ(p.variable.value(), fresh.at(p.name).value());
  }
}

// The graph of b was made with other weights than its backward would read.
TEST(Optimizer, AStepBetweenForwardAndBackwardIsRefused) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> parameters(0);
    const auto w = make_parameter(parameters, "a.weight", {2, 2}, test::constant(1));
    const auto optimizer = make_optimizer(name, parameters, {});
    const auto loss = [&] {
      const Variable<double> x(full<double>({3, 2}, 0.5));
      return sum(tanh(linear(tanh(linear(x, w)), w)));
    };
    const auto a = loss(), b = loss();
    a.backward();
    optimizer->step(0.1);
    parameters.zero_grad();
    EXPECT_TRUE(throws_with<GradientError>(
        [&] { b.backward(); }, "a value that 'linear' needs was changed after its forward"));
    EXPECT_FALSE(w.has_grad());
    loss().backward();
  }
}

}  // namespace
}  // namespace xgrad
