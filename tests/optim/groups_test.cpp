// Parameter groups and the mean of the weights.
#include <gtest/gtest.h>

#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "golden.hpp"
#include "support/errors.hpp"

namespace xgrad {
namespace {

const std::vector<ParameterGroup> kGroups = {
    {.match = "embedding.*", .lr_scale = 0.1, .weight_decay = 0.0},
    {.match = "*.norm?.weight", .weight_decay = 0.3},
    {.match = "head.*", .freeze = true},
    {.match = "embedding.token.*", .lr_scale = 7},  // comes too late to count
};

template <class T>
void make_frozen_parameters(Parameters<T>& parameters) {
  parameters.freeze([](const std::string& name) {
    const ParameterGroup* group = group_of(kGroups, name);
    return group != nullptr && group->freeze;
  });
  test::make_golden_parameters(parameters);
}

TEST(Groups, AsTorchWithGroupsAndAMeanOfTheWeights) {
  Parameters<double> parameters(0);
  make_frozen_parameters(parameters);
  const auto adamw =
      make_optimizer("adamw", parameters,
                     {.betas = {0.8, 0.95}, .eps = 1e-7, .weight_decay = 0.1, .groups = kGroups});
  AveragedWeights<double> ema(parameters, "ema");
  EXPECT_EQ(adamw->state().size(), 10u);  // nothing for the frozen head
  EXPECT_EQ(ema.state().size(), 5u);
  for (std::size_t s = 0; s < 40; ++s) {
    test::set_golden_gradients(parameters, s);
    adamw->step(0.01);
    ema.update(0.1);
  }
  for (const char* kind : {"groups.40.", "groups.ema."}) {
    for (const auto& p : parameters) {
      EXPECT_LE(test::difference(p.variable.value(), kind + p.name), 1e-12) << kind << p.name;
    }
    ema.swap();
  }
  Parameters<double> fresh(0);
  test::make_golden_parameters(fresh);
  EXPECT_EQ(parameters.at("head.weight").value(), fresh.at("head.weight").value());
}

TEST(Groups, EveryOptimizerTakesTheFactorOfTheLearningRate) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> a(0), b(0);
    test::make_golden_parameters(a);
    test::make_golden_parameters(b);
    OptimizerOptions options{.weight_decay = 0.1};
    const auto plain = make_optimizer(name, a, options);
    options.groups = {{.match = "*", .lr_scale = 0.25}};
    const auto grouped = make_optimizer(name, b, options);
    for (std::size_t s = 0; s < 3; ++s) {
      test::set_golden_gradients(a, s);
      test::set_golden_gradients(b, s);
      plain->step(0.01);
      grouped->step(0.04);
    }
    for (const auto& p : a) EXPECT_EQ(p.variable.value(), b.at(p.name).value()) << name << p.name;
  }
}

// Of parameters that do require a gradient, and get one.
TEST(Groups, FreezeMeansNoUpdateAndNoState) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> parameters(0), fresh(0);
    test::make_golden_parameters(parameters);
    test::make_golden_parameters(fresh);
    const auto optimizer = make_optimizer(
        name, parameters, {.weight_decay = 0.1, .groups = {{.match = "e*token*", .freeze = true}}});
    for (const auto& s : optimizer->state()) {
      EXPECT_EQ(s.name.find("token"), std::string::npos) << name << s.name;
    }
    for (std::size_t s = 0; s < 3; ++s) {
      test::set_golden_gradients(parameters, s);
      if (s == 0) parameters.at("embedding.token.weight").zero_grad();  // it needs none
      optimizer->step(0.01);
    }
    for (const auto& p : parameters) {
      const bool same = p.variable.value() == fresh.at(p.name).value();
      EXPECT_EQ(same, p.name == "embedding.token.weight") << name << p.name;
    }
  }
}

TEST(Groups, FreezeLeavesTheOthersTheirState) {
  const OptimizerOptions all{.weight_decay = 0.1};
  OptimizerOptions some = all;
  some.groups = {{.match = "encoder.*norm1*", .freeze = true}};
  for (const std::string& name : optimizer_names()) {
    Parameters<double> a(0), b(0);
    test::make_golden_parameters(a);
    test::make_golden_parameters(b);
    const auto whole = make_optimizer(name, a, all), part = make_optimizer(name, b, some);
    for (std::size_t s = 0; s < 3; ++s) {
      test::set_golden_gradients(a, s);
      test::set_golden_gradients(b, s);
      for (const auto& p : b) p.variable.mutable_grad() = a.at(p.name).grad();
      whole->step(0.01);
      part->step(0.01);
    }
    for (const OptimizerState<double>& s : part->state()) {
      const auto twin = std::find_if(whole->state().begin(), whole->state().end(),
                                     [&](const auto& other) { return other.name == s.name; });
      ASSERT_NE(twin, whole->state().end());
      EXPECT_EQ(s.tensor, twin->tensor) << name << s.name;
    }
    for (const auto& p : b) {
      if (p.name.find("norm1") != std::string::npos) continue;
      EXPECT_EQ(p.variable.value(), a.at(p.name).value()) << name << p.name;
    }
  }
}

TEST(Groups, Match) {
  EXPECT_TRUE(matches("encoder.layers.*.norm1.weight", "encoder.layers.0.norm1.weight"));
  EXPECT_TRUE(matches("*", "a.b"));
  EXPECT_TRUE(matches("a.?", "a.b"));
  EXPECT_FALSE(matches("a", "a.b"));
  EXPECT_FALSE(matches("b", "a.b"));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Groups, APatternThatMatchesNothingIsNamed) {
  Parameters<double> parameters(0);
  test::make_golden_parameters(parameters);
  try {
    make_optimizer("sgd", parameters, {.groups = {{.match = "*"}, {.match = "embeding.token.*"}}});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "optim.groups[1].match: \"embeding.token.*\" matches no parameter; the nearest "
                 "name is embedding.token.weight");
  }
}

TEST(Groups, APatternWithoutAnyParameter) {
  const Parameters<double> none(0);
  EXPECT_EQ(test::message_of<ConfigError>(
                [&] { make_optimizer("sgd", none, {.groups = {{.match = "a"}}}); }),
            "optim.groups[0].match: \"a\" matches no parameter; the nearest name is none");
}

}  // namespace
}  // namespace xgrad
