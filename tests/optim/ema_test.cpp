#include <xgrad/optim/ema.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

TEST(Ema, RefusesForeignState) {
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {2}, test::constant(1));
  Ema<double> ema(parameters, 0.5);
  EXPECT_THROW(ema.set_state("ema.a.y", zeros<double>({2})), Error);
  EXPECT_THROW(ema.set_state("ema.a.x", zeros<double>({3})), ShapeError);
  ema.set_state("ema.a.x", full<double>({2}, 3));
  ema.update();
  EXPECT_EQ(ema.state()[0].tensor, full<double>({2}, 2));
}

}  // namespace
}  // namespace xgrad
