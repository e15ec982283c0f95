// A value or a gradient of another shape than the parameter's: ShapeError, before anything is
// written.
#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

// The second of two parameters, whose value or gradient has become too small.
struct Model {
  Model()
      : first(test::make_parameter(parameters, "a.x", {10}, test::constant(1))),
        second(test::make_parameter(parameters, "a.y", {30'000}, test::constant(1))) {
    first.make_grad();
    second.make_grad();
  }
  void expect_untouched() const { EXPECT_EQ(first.value(), ones<double>({10})); }

  Parameters<double> parameters{0};
  Variable<double> first, second;
};

TEST(ChangedShape, IsRefusedByEveryOptimizer) {
  for (const std::string& name : optimizer_names()) {
    Model of_gradient, of_value;
    const auto a = make_optimizer<double>(name, of_gradient.parameters, {});
    const auto b = make_optimizer<double>(name, of_value.parameters, {});
    of_gradient.second.make_grad() = ones<double>({1});
    of_value.second.mutable_value() = ones<double>({1});
    EXPECT_THROW(a->step(0.1), ShapeError) << name;
    EXPECT_THROW(b->step(0.1), ShapeError) << name;
    EXPECT_THROW(make_optimizer<double>(name, of_value.parameters, {}), ShapeError) << name;
    of_gradient.expect_untouched();
    of_value.expect_untouched();
  }
}

TEST(ChangedShape, IsRefusedByNormAndClipping) {
  const Model of_gradient, of_value;
  of_gradient.second.make_grad() = ones<double>({1});
  of_value.second.mutable_value() = ones<double>({60'000});
  for (const Model* model : {&of_gradient, &of_value}) {
    EXPECT_THROW(global_norm(model->parameters), ShapeError);
    EXPECT_THROW(clip_values(model->parameters, 0.5), ShapeError);
  }
  EXPECT_THROW(first_not_finite(of_value.parameters), ShapeError);
}

TEST(ChangedShape, IsRefusedByAverages) {
  const Model model;
  AveragedWeights<double> average(model.parameters, "ema");
  model.second.mutable_value() = ones<double>({1});
  EXPECT_THROW(average.update(0.5), ShapeError);
  EXPECT_THROW(average.update(1), ShapeError);
  EXPECT_THROW(average.swap(), ShapeError);
  EXPECT_THROW(AveragedWeights<double>(model.parameters, "ema"), ShapeError);
  model.expect_untouched();
}

}  // namespace
}  // namespace xgrad
